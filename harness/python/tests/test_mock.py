"""moto's ways of working: decorator, context manager, fixture, start and stop."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import unittest
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from aiobotocore.session import get_session
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

import dynatwin
from dynatwin import Twin

# Made at module scope, before any mock, with credentials of their own and none.
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "early", "aws_secret_access_key": "x"}
EARLY: Any = boto3.client("dynamodb", **KEYS)
OFFLINE: Any = Config(signature_version="v4", retries={"total_max_attempts": 1})


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def put(table: str = "Orders") -> list[str]:
    """An application that makes its own client."""
    client = boto3.Session().client("dynamodb")
    if table not in client.list_tables()["TableNames"]:
        client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
    client.put_item(TableName=table, Item={"id": {"S": "a"}})
    return client.list_tables()["TableNames"]


def test_context_manager() -> None:
    with dynatwin.mock() as twin:
        assert put() == ["Orders"]
        assert twin is dynatwin.current() and twin.tables() == ["Orders"]
        assert EARLY.list_tables()["TableNames"] == ["Orders"]
        assert boto3.Session().client("dynamodbstreams").list_streams()["Streams"] == []
        assert [table.name for table in boto3.Session().resource("dynamodb").tables.all()] == ["Orders"]
    with pytest.raises(RuntimeError, match="outside of dynatwin.mock"):
        dynatwin.current()
    assert "AWS_ACCESS_KEY_ID" not in os.environ


@dynatwin.mock
def test_bare_decorator() -> None:
    """Its docstring."""
    assert put() == ["Orders"]


@dynatwin.mock(seed=9, conditions={"throttles": 0.0})
def test_decorator_with_options() -> None:
    assert put() == ["Orders"] and dynatwin.current().seed == 9


@dynatwin.mock()
@pytest.mark.parametrize("table", ["One", "Two"])
def test_decorator_of_a_parametrized_test(table: str) -> None:
    assert put(f"{table}s") == [f"{table}s"]


@dynatwin.mock
async def test_decorated_coroutine() -> None:
    await asyncio.sleep(0)
    assert await asyncio.to_thread(put) == ["Orders"]
    async with get_session().create_client("dynamodb") as client:
        assert (await client.list_tables())["TableNames"] == ["Orders"]


@pytest.fixture
@dynatwin.mock(seed=3)
def decorated_fixture() -> Iterator[list[str]]:
    yield put()


@pytest.fixture
@dynatwin.mock(seed=4)
async def decorated_async_fixture() -> AsyncIterator[list[str]]:
    yield put()


def test_a_decorated_fixture_spans_its_test(decorated_fixture: list[str]) -> None:
    assert put("Others") == ["Orders", "Others"] and dynatwin.current().seed == 3


async def test_a_decorated_async_fixture_spans_its_test(decorated_async_fixture: list[str]) -> None:
    assert put("Others") == ["Orders", "Others"] and dynatwin.current().seed == 4


@pytest.fixture
def fixture_with_context_manager() -> Iterator[Twin]:
    with dynatwin.mock(seed=5) as twin:
        yield twin


def test_a_fixture_with_a_context_manager(fixture_with_context_manager: Twin) -> None:
    assert put() == fixture_with_context_manager.tables()


def test_decorated_functions_keep_their_signature() -> None:
    assert test_bare_decorator.__doc__ == "Its docstring." and test_bare_decorator.__name__ == "test_bare_decorator"


@pytest.mark.parametrize("wrong", [7, staticmethod(put), decorated_fixture])
def test_what_a_mock_does_not_decorate(wrong: Any) -> None:
    with pytest.raises(TypeError, match="decorates functions and classes.* Put @pytest.fixture and @staticmethod above"):
        dynatwin.mock(wrong)


def test_a_decorated_callable() -> None:
    assert dynatwin.mock(functools.partial(put, "Others"))() == ["Others"]


def test_nested() -> None:
    with dynatwin.mock(seed=1) as outer:
        put("Outer")
        with dynatwin.mock(seed=2) as inner:
            assert put("Inner") == ["Inner"] == EARLY.list_tables()["TableNames"]
        assert put("Outer") == ["Outer"] and dynatwin.current() is outer
        with dynatwin.mock(twin=inner):
            assert put("Again") == ["Again", "Inner"]
        assert outer.tables() == ["Outer"]


def test_clients_that_a_twin_has_detached_are_intercepted() -> None:
    client: Any = boto3.client("dynamodb", endpoint_url="http://127.0.0.1:9", config=OFFLINE, **KEYS)
    with Twin(seed=1) as first:
        first.attach(client)
    with dynatwin.mock():
        put()
        assert client.list_tables()["TableNames"] == ["Orders"]
        # A client that is attached keeps its twin.
        with Twin(seed=2) as second:
            second.attach(client)
            assert client.list_tables()["TableNames"] == []
        assert client.list_tables()["TableNames"] == ["Orders"]
    with pytest.raises(EndpointConnectionError):
        client.list_tables()


def test_a_nested_mock_without_options_shares_the_outer_twin() -> None:
    with dynatwin.mock(seed=1) as outer:
        with dynatwin.mock() as inner:
            assert inner is outer and put("Inner") == ["Inner"]
        assert dynatwin.mock(put)("Decorated") == ["Decorated", "Inner"] == outer.tables()
        with dynatwin.mock(watch=True) as other:
            assert other is not outer
        first, second = dynatwin.mock(), dynatwin.mock()
        assert first.start() is second.start()
        first.stop()
        assert dynatwin.current() is outer
        second.stop()
    with dynatwin.mock() as after:
        assert after is not outer and put() == ["Orders"]


@dynatwin.mock
def test_a_decorated_test_shares_the_twin_of_its_fixture(fixture_with_context_manager: Twin) -> None:
    assert dynatwin.current() is fixture_with_context_manager


@dynatwin.mock
async def test_a_decorated_async_test_shares_the_twin_of_its_fixture(decorated_async_fixture: list[str]) -> None:
    assert put("Others") == ["Orders", "Others"] and dynatwin.current().seed == 4


@dynatwin.mock
def test_a_decorated_test_shares_the_twin_of_the_plugin(dynatwin: Twin) -> None:
    dynatwin.create_table("Users", "id")
    assert put() == ["Orders", "Users"]


async def test_tasks_beside_each_other_have_twins_of_their_own() -> None:
    async def run(number: int) -> list[str]:
        with dynatwin.mock():
            tables = put(f"Table{number}")
            await asyncio.sleep(0)
            return tables

    assert await asyncio.gather(*map(run, range(4))) == [[f"Table{number}"] for number in range(4)]


def test_a_thread_whose_mock_ends_before_others_has_a_fresh_twin_again() -> None:
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with dynatwin.mock():
            put("Other")
            begun.set()
            ended.wait()

    mine = dynatwin.mock()
    mine.start()
    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    mine.stop()
    try:
        with dynatwin.mock():
            assert put() == ["Orders"]
    finally:
        ended.set()
        thread.join()


def test_a_bound_client_keeps_its_twin() -> None:
    own = Twin(seed=1)
    own.create_table("Own", "id")
    client = own.client()
    with dynatwin.mock() as twin:
        assert client.list_tables()["TableNames"] == ["Own"] and twin.tables() == []


def test_start_and_stop() -> None:
    mock = dynatwin.mock()
    twin = mock.start()
    assert put() == twin.tables() == ["Orders"]
    mock.stop()
    with pytest.raises(RuntimeError):
        mock.stop()


def test_credentials_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    with dynatwin.mock():
        put()
        for key in ("one", "two"):
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
            assert put() == ["Orders"]
        explicit = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y")
        local = boto3.client("dynamodb", region_name="us-east-1", endpoint_url="http://localhost:1", config=OFFLINE)
        assert explicit.list_tables() and local.list_tables()["TableNames"] == ["Orders"]
        elsewhere = boto3.client("dynamodb", region_name="eu-west-1")
        assert elsewhere.list_tables()["TableNames"] == []


def test_a_client_without_credentials_that_was_made_before() -> None:
    client = boto3.Session().client("dynamodb", region_name="us-east-1")
    with dynatwin.mock():
        put()
        assert client.list_tables()["TableNames"] == ["Orders"]


def test_other_services_are_left_alone() -> None:
    with dynatwin.mock():
        put()
        sts: Any = boto3.client("sts", endpoint_url="http://127.0.0.1:9", config=OFFLINE, **KEYS)
        with pytest.raises(Exception, match="Could not connect"):
            sts.get_caller_identity()


def test_beside_moto() -> None:
    from moto import mock_aws

    with mock_aws(), dynatwin.mock() as twin:
        put()
        boto3.client("s3").create_bucket(Bucket="shelf")
        assert twin.tables() == ["Orders"]


def test_threads_that_are_started_inside() -> None:
    with dynatwin.mock() as twin, ThreadPoolExecutor(8) as pool:
        put()
        assert set(map(tuple, pool.map(lambda _: put(), range(16)))) == {("Orders",)}
        assert len(twin.items("Orders")) == 1


def test_tests_in_threads_beside_each_other_have_twins_of_their_own() -> None:
    together = threading.Barrier(8)

    def run(number: int) -> list[str]:
        with dynatwin.mock():
            together.wait()
            tables = put(f"Table{number}")
            together.wait()
            return tables

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == [[f"Table{number}"] for number in range(8)]


def test_retries_pause_on_the_clock() -> None:
    with dynatwin.mock(clock="settable") as twin:
        put()
        twin.faults.add("throttle", operation="PutItem", first=8)
        before = twin.clock.now()
        put()
        assert (twin.clock.now() - before).total_seconds() > 10


def test_an_exception_notes_the_seed() -> None:
    with pytest.raises(ZeroDivisionError) as failed, dynatwin.mock(seed=12):
        raise ZeroDivisionError
    assert not hasattr(failed.value, "add_note") or "seed was 12" in failed.value.__notes__[0]


@dynatwin.mock
class TestClass:
    """Each test with its ``setup_method`` has a twin of its own."""

    def setup_method(self) -> None:
        put("Prepared")

    @pytest.fixture
    def fixture(self) -> list[str]:
        return put("Fixed")

    def test_one(self, fixture: list[str]) -> None:
        assert put("One") == ["Fixed", "One", "Prepared"]

    async def test_two(self) -> None:
        assert put("Two") == ["Prepared", "Two"]


class Derived(TestClass):
    pass


def test_a_decorated_class_without_pytest() -> None:
    @dynatwin.mock
    class Plain:
        def test(self) -> list[str]:
            return put()

    assert Plain().test() == ["Orders"] == Plain().test()


@dynatwin.mock
class TestUnittest(unittest.TestCase):
    def setUp(self) -> None:
        put("Prepared")

    def tearDown(self) -> None:
        self.assertIn("Prepared", dynatwin.current().tables())

    def test_one(self) -> None:
        self.assertEqual(put("One"), ["One", "Prepared"])

    def test_two(self) -> None:
        self.assertEqual(put("Two"), ["Prepared", "Two"])


@dynatwin.mock
class TestAsyncUnittest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        put("Prepared")

    async def test_one(self) -> None:
        async with get_session().create_client("dynamodb") as client:
            self.assertEqual((await client.list_tables())["TableNames"], ["Prepared"])


@dynatwin.mock
class TestSharedUnittest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        put("Shared")

    def test_one(self) -> None:
        self.assertIn("Shared", put("One"))

    def test_two(self) -> None:
        self.assertIn("Shared", put("Two"))
