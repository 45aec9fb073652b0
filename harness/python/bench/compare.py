"""Measures 1,000 pytest tests with one table and three requests each: dynatwin, moto, and DynamoDB Local at the address
in ``DYNAMODB_LOCAL``. Then measures single calls.

Rounds alternate between the emulators. The first round is that of a DynamoDB Local that was just started, as in continuous
integration; in later rounds its virtual machine has compiled more of it. For the others the rounds are alike.

Arguments: the number of tests, and of rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Each emulator has one client for all tests, and a fresh table in each test.
COMMON = """
import boto3, pytest

KEYS = {"region_name": "us-east-1", "aws_access_key_id": "bench", "aws_secret_access_key": "x"}
TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
"""

TESTS = """
import pytest
from conftest import TABLE

@pytest.mark.parametrize("number", range(NUMBER))
def test(table_client, number):
    client, table = table_client
    key = {"id": {"S": str(number)}}
    client.put_item(TableName=table, Item={**key, "seen": {"N": "1"}})
    client.update_item(TableName=table, Key=key, UpdateExpression="ADD seen :one", ExpressionAttributeValues={":one": {"N": "1"}})
    assert client.get_item(TableName=table, Key=key)["Item"]["seen"] == {"N": "2"}
"""

FIXTURES = {
    "dynatwin": """
@pytest.fixture
def table_client(dynatwin, dynatwin_client):
    dynatwin_client.create_table(TableName="Orders", **TABLE)
    return dynatwin_client, "Orders"
""",
    "dynatwin.mock": """
import dynatwin

@pytest.fixture(scope="session")
def client():
    return boto3.client("dynamodb", **KEYS)

@pytest.fixture
def table_client(client):
    with dynatwin.mock():
        client.create_table(TableName="Orders", **TABLE)
        yield client, "Orders"
""",
    "moto": """
from moto import mock_aws

@pytest.fixture(scope="session")
def client():
    return boto3.client("dynamodb", **KEYS)

@pytest.fixture
def table_client(client):
    with mock_aws():
        client.create_table(TableName="Orders", **TABLE)
        yield client, "Orders"
""",
    "DynamoDB Local": """
import os

@pytest.fixture(scope="session")
def client():
    return boto3.client("dynamodb", endpoint_url=os.environ["DYNAMODB_LOCAL"], **KEYS)

@pytest.fixture
def table_client(client):
    client.create_table(TableName="Orders", **TABLE)
    yield client, "Orders"
    client.delete_table(TableName="Orders")
""",
}

CALLS = """
import time
import boto3
import dynatwin

twin = dynatwin.Twin(seed=7)
twin.create_table("Orders", "id")
client, key = twin.client(), {"id": {"S": "a"}}
target, body = "GetItem", b'{"TableName":"Orders","Key":{"id":{"S":"a"}}}'

def each(call, times):
    # The CPU time of a call in microseconds: the best of five rounds.
    best = float("inf")
    for _ in range(5):
        call()
        start = time.process_time()
        for _ in range(times):
            call()
        best = min(best, (time.process_time() - start) / times * 1e6)
    return best

signed = twin.session().client("dynamodb")
print(f"GetItem of a client of a twin: {each(lambda: client.get_item(TableName='Orders', Key=key), 500):.0f} us of CPU")
print(f"GetItem of a client of an attached session: {each(lambda: signed.get_item(TableName='Orders', Key=key), 500):.0f} us")
with dynatwin.mock(twin=twin):
    caught = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y")
    print(f"GetItem of a client that mock catches: {each(lambda: caught.get_item(TableName='Orders', Key=key), 500):.0f} us")
print(f"GetItem by Twin.dispatch: {each(lambda: twin.dispatch(target, body), 5000):.1f} us")
print(f"a fresh twin: {each(lambda: dynatwin.Twin(seed=7), 500):.0f} us")
print(f"a fork: {each(twin.fork, 500):.0f} us")
print(f"a client of a twin: {each(twin.client, 20) / 1000:.1f} ms")
"""


def measure(name: str, tests: int) -> tuple[float, float]:
    """The seconds that pytest takes for a contender's tests, and the CPU time of its process."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "conftest.py").write_text(COMMON + FIXTURES[name])
        Path(folder, "test_bench.py").write_text(TESTS.replace("NUMBER", str(tests)))
        start, before = time.perf_counter(), os.times()
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:xdist"]
        subprocess.run(run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return time.perf_counter() - start, cpu


def main() -> None:
    tests, rounds = (int(word) for word in (*sys.argv[1:], "1000", "3")[:2])
    names = [name for name in FIXTURES if name != "DynamoDB Local" or "DYNAMODB_LOCAL" in os.environ]
    print(f"{tests} tests: seconds, how many times as long as dynatwin, and seconds of CPU of the process of pytest")
    for number in range(1, rounds + 1):
        measured = {name: measure(name, tests) for name in names}
        for name, (wall, cpu) in measured.items():
            print(f"round {number}: {name:15}{wall:6.1f}{wall / measured['dynatwin'][0]:6.1f}{cpu:6.1f}", flush=True)
    subprocess.run([sys.executable, "-c", CALLS], check=True)


if __name__ == "__main__":
    main()
