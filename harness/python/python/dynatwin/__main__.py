"""The ``dynatwin`` command: the engine's HTTP server, in place of DynamoDB Local."""

import signal
import sys

from dynatwin._dynatwin import main as run


def main() -> int:
    """Runs the server with the process's arguments until SIGINT or SIGTERM; returns the exit code."""
    # The server handles SIGINT itself. Python's handler would raise KeyboardInterrupt after it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
