"""A client of the twin, and the twin's own controls, over HTTP.

What an application would have of its own is `connect` without its endpoint. The rest is for tests.
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
    """A DynamoDB client; `config` is botocore's."""
    return boto3.client("dynamodb", config=Config(**config), **SETTINGS)


def pass_pauses(sdk_client):
    """Lets a client's pauses between attempts pass on a server's settable clock, so that capacity refills meanwhile.

    Each further attempt of a request sends the seconds since the last one of its thread was sent.
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
    """The same as a resource, which speaks Python's own types."""
    return boto3.resource("dynamodb", config=Config(**config), **SETTINGS)


def control(method, path, body=None):
    """One call to `/_dynatwin/`; gives what it answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{ENDPOINT}/_dynatwin/{path}", data, {"content-type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@contextlib.contextmanager
def fault(verdict, **rule):
    """A fault rule for as long as the block runs. Afterwards its `matched` and `fired` say what it met."""
    report = types.SimpleNamespace(matched=None, fired=None)
    number = control("POST", "faults", {"verdict": verdict, **rule})["id"]
    try:
        yield report
    finally:
        told = control("DELETE", f"faults/{number}")
        report.matched, report.fired = told["matched"], told["fired"]


def advance(seconds):
    """Moves the twin's clock; what is due by then has happened when this returns."""
    control("POST", "clock/advance", {"seconds": seconds})
