"""The Python package's engine behind HTTP, for the tests of entry points. Its argument is the seed; the clock is settable."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dynatwin import Twin

twin = Twin(seed=int(sys.argv[1]))


class Handler(BaseHTTPRequestHandler):
    """Passes each request to the twin."""

    protocol_version = "HTTP/1.1"
    # The head and the body leave in one segment.
    wbufsize = -1

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = twin.handle(self.command, self.path, dict(self.headers.items()), body)
        self.send_response_only(answer.status)
        for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
# It ends with its input.
sys.stdin.read()
