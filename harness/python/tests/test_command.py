"""The command of the wheel."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import dynatwin

COMMAND = str(Path(sys.executable).with_name("dynatwin"))


@pytest.mark.parametrize("command", [[COMMAND], [sys.executable, "-m", "dynatwin"]])
def test_version_and_usage(command: list[str]) -> None:
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"dynatwin {dynatwin.__version__}"
    refused = subprocess.run([*command, "--prot", "1"], capture_output=True, text=True)
    assert refused.returncode == 2 and "--prot" in refused.stderr
    limited = subprocess.run([*command, "--port", "0", "--max-memory", "1G"], capture_output=True, text=True)
    assert limited.returncode == 1 and "not available in the Python package" in limited.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_server_runs_until_it_is_signaled(stop: signal.Signals) -> None:
    with subprocess.Popen([COMMAND, "--port", "0", "--seed", "7"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        endpoint = next(word for word in line.split() if word.startswith("http://127"))
        with urllib.request.urlopen(f"{endpoint}/_dynatwin/") as overview:
            assert json.load(overview)["seed"] == "7"
        process.send_signal(stop)
        assert process.wait(timeout=60) == 0
