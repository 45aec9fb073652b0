"""A client of the emulator, and its controls, over HTTP.

An application would have its own `connect`, without the endpoint. The rest is for tests.
"""

import contextlib
import json
import os
import threading
import time
import types
import urllib.request

import boto3
from botocore.config import Config

ENDPOINT = os.environ.get("ENDPOINT", "http://localhost:8000")

SETTINGS = {
    "endpoint_url": ENDPOINT,
    "region_name": "us-west-2",
    "aws_access_key_id": "example",
    "aws_secret_access_key": "example",
}


def client(**config):
    """Returns a DynamoDB client; `config` is botocore's."""
    return boto3.client("dynamodb", config=Config(**config), **SETTINGS)


def pass_pauses(sdk_client):
    """Makes a client's backoff advance a server's settable clock, so that capacity refills meanwhile.

    Each retry sends the seconds since its thread sent the last attempt.
    """
    last = threading.local()

    def advance(request, **_):
        now = time.monotonic()
        if "attempt=1;" not in f"{request.headers['amz-sdk-request']};":
            request.headers["X-Dynatwin-Advance"] = f"{now - last.sent:.6f}"
        last.sent = now

    sdk_client.meta.events.register("before-send.dynamodb", advance)
    return sdk_client


def resource(**config):
    """Returns a resource, which uses Python's own types."""
    return boto3.resource("dynamodb", config=Config(**config), **SETTINGS)


def control(method, path, body=None):
    """Calls `/_dynatwin/`; returns the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{ENDPOINT}/_dynatwin/{path}", data, {"content-type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@contextlib.contextmanager
def fault(verdict, **rule):
    """Adds a fault rule for the block. Afterwards its `matched` and `fired` are set."""
    report = types.SimpleNamespace(matched=None, fired=None)
    number = control("POST", "faults", {"verdict": verdict, **rule})["id"]
    try:
        yield report
    finally:
        removed = control("DELETE", f"faults/{number}")
        report.matched, report.fired = removed["matched"], removed["fired"]


def advance(seconds):
    """Advances the emulator's clock, and applies all due work before it returns."""
    control("POST", "clock/advance", {"seconds": seconds})
