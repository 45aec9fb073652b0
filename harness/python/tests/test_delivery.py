"""Answers that come late, broken or never raise what they raise over a network, and pauses take no real time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import boto3
import pytest
from aiobotocore.session import AioSession
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError, WaiterError

from dynatwin import Twin

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
A = {"id": {"S": "a"}}
ONCE: Any = Config(read_timeout=1, retries={"total_max_attempts": 1})
FAULTS: list[Any] = [
    "throttle",
    "internal_server_error",
    "internal_server_error_after_apply",
    "service_unavailable",
    "reset",
    {"truncate": 0},
    {"truncate": 5},
    "answer_lost",
    {"wait": 2},
    "corrupt_checksum",
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the wheel's server."""
    command = [sys.executable, "-m", "dynatwin", "--port", "0", "--log", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.split() if word.startswith("http://127"))
        process.terminate()


def _failed(call: Any) -> tuple[str, str]:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def _without_address(failed: tuple[str, str], *addresses: str) -> tuple[str, str]:
    kind, text = failed
    for address in addresses:
        text = text.replace(address, "")
    # The body that breaks off has another creation date.
    return kind, "" if kind == "ChecksumError" else text


def _control(server: str, fault: Any) -> None:
    headers = {"content-type": "application/json"}
    words = {"internal_server_error": "internalServerError", "answer_lost": "answerLost"}
    words |= {"internal_server_error_after_apply": "internalServerErrorAfterApply"}
    words |= {"service_unavailable": "serviceUnavailable", "corrupt_checksum": "corruptChecksum"}
    verdict = words.get(fault, fault) if isinstance(fault, str) else fault
    body = json.dumps({"verdict": verdict, "operation": "DescribeTable"}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server}/_dynatwin/reset", method="POST"))
    urllib.request.urlopen(urllib.request.Request(f"{server}/_dynatwin/faults", body, headers))


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_exceptions_are_those_of_a_network(twin: Twin, server: str, fault: Any) -> None:
    keys = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b", "config": ONCE}
    remote = boto3.client("dynamodb", endpoint_url=server, **keys)
    _control(server, fault)
    schema = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}
    attributes = {"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}
    remote.create_table(TableName="Orders", BillingMode="PAY_PER_REQUEST", **schema, **attributes)
    twin.faults.add(fault, operation="DescribeTable")
    addresses = (f"{server}/", "https://dynamodb.us-east-1.amazonaws.com/")

    def describe(client: Any) -> tuple[str, str]:
        return _without_address(_failed(lambda: client.describe_table(TableName="Orders")), *addresses)

    async def async_describe(client: Any) -> tuple[str, str]:
        try:
            await client.describe_table(TableName="Orders")
        except Exception as error:
            return _without_address((type(error).__name__, str(error)), *addresses)
        return "", ""

    assert describe(twin.client(config=ONCE)) == describe(remote) != ("", "")
    async with AioSession().create_client("dynamodb", endpoint_url=server, **keys) as async_remote:
        async with twin.async_client(config=ONCE) as client:
            assert await async_describe(client) == await async_describe(async_remote) != ("", "")


def test_retries_pause_on_the_clock(twin: Twin) -> None:
    client = twin.client()
    began = time.monotonic()
    fault = twin.faults.add("internal_server_error", operation="PutItem", first=9)
    client.put_item(TableName="Orders", Item=A)
    assert fault.fired == 9
    # 50 ms, doubled for each of nine pauses.
    assert twin.clock.now() - START == timedelta(milliseconds=50 * (2**9 - 1))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
async def test_every_retry_mode_is_paced(twin: Twin, mode: Any) -> None:
    config: Any = Config(retries={"mode": mode, "total_max_attempts": 4})
    twin.faults.add("internal_server_error", operation="PutItem", first=3)
    twin.client(config=config).put_item(TableName="Orders", Item=A)
    assert twin.clock.now() > START
    between = twin.clock.now()
    twin.faults.add("internal_server_error", operation="DeleteItem", first=3)
    async with twin.async_client(config=config) as client:
        await client.delete_item(TableName="Orders", Key=A)
    assert twin.clock.now() > between


def test_a_retry_meets_its_own_write(twin: Twin) -> None:
    twin.faults.add("answer_lost", operation="PutItem", first=1)
    client = twin.client(config=Config(read_timeout=5))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        client.put_item(TableName="Orders", Item=A, ConditionExpression="attribute_not_exists(id)")
    assert twin.clock.now() - START >= timedelta(seconds=5)


def test_a_late_answer_moves_the_clock(twin: Twin) -> None:
    twin.faults.add({"wait": 30}, operation="PutItem")
    twin.client().put_item(TableName="Orders", Item=A)
    assert twin.clock.now() - START == timedelta(seconds=30)


@pytest.mark.parametrize(("wait", "is_late"), [(0.999, False), (1, False), (1.001, True)])
def test_an_answer_that_arrives_with_the_end_of_the_timeout_is_in_time(twin: Twin, wait: float, is_late: bool) -> None:
    client = twin.client(config=ONCE)
    twin.faults.add({"wait": wait}, operation="GetItem")
    failed, _ = _failed(lambda: client.get_item(TableName="Orders", Key=A))
    assert failed == ("ReadTimeoutError" if is_late else "")
    assert twin.clock.now() - START == timedelta(seconds=min(wait, 1))


def test_without_a_read_timeout_a_lost_answer_costs_a_minute(twin: Twin) -> None:
    twin.faults.add("answer_lost", operation="PutItem")
    config: Any = Config(read_timeout=None, retries={"total_max_attempts": 1})
    with pytest.raises(ReadTimeoutError):
        twin.client(config=config).put_item(TableName="Orders", Item=A)
    assert twin.clock.now() - START == timedelta(minutes=1)


def test_waiters_wait_on_the_clock() -> None:
    twin = Twin(seed=7, conditions={"table_status": 70})
    client = twin.client()
    attributes: Any = [{"AttributeName": "id", "AttributeType": "S"}]
    keys: Any = [{"AttributeName": "id", "KeyType": "HASH"}]
    client.create_table(
        TableName="Orders", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=attributes, KeySchema=keys
    )
    waiter = client.get_waiter("table_exists")
    with pytest.raises(WaiterError, match="Max attempts exceeded"):
        waiter.wait(TableName="Orders", WaiterConfig={"Delay": 10, "MaxAttempts": 2})
    assert twin.clock.now() - START == timedelta(seconds=10)
    waiter.wait(TableName="Orders")
    assert twin.clock.now() - START == timedelta(seconds=70)
    twin.resource().Table("Orders").delete()
    client.get_waiter("table_not_exists").wait(TableName="Orders")
    assert twin.tables() == []


async def test_async_waiters_wait_on_the_clock() -> None:
    twin = Twin(seed=7, conditions={"table_status": 70})
    async with twin.async_client() as client:
        attributes = [{"AttributeName": "id", "AttributeType": "S"}]
        keys = [{"AttributeName": "id", "KeyType": "HASH"}]
        await client.create_table(
            TableName="Orders", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=attributes, KeySchema=keys
        )
        await client.get_waiter("table_exists").wait(TableName="Orders")
    assert twin.clock.now() - START == timedelta(seconds=80)


async def test_a_reset_connection(twin: Twin) -> None:
    twin.faults.add("reset", operation="PutItem")
    with pytest.raises(ConnectionClosedError):
        twin.client(config=ONCE).put_item(TableName="Orders", Item=A)
    async with twin.async_client(config=ONCE) as client:
        with pytest.raises(EndpointConnectionError):
            await client.put_item(TableName="Orders", Item=A)
    assert twin.items("Orders") == []


async def test_a_frozen_clock_holds_sleepers_until_it_is_moved(twin: Twin) -> None:
    import asyncio
    import threading

    clock = twin.clock
    clock.freeze()
    woke: list[float] = []

    def sleep() -> None:
        clock.sleep(60)
        woke.append(1)

    thread = threading.Thread(target=sleep)
    thread.start()
    task = asyncio.create_task(clock.async_sleep(60))
    await asyncio.sleep(0)
    assert not woke and not task.done() and clock.now() == START
    clock.advance(60)
    await task
    thread.join()
    assert woke and clock.now() == START + timedelta(seconds=60)
