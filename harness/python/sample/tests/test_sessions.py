"""The application's tests."""

import boto3
import dynatwin
import pytest

from sessions import TABLE, is_open, open_session


@pytest.fixture(scope="session")
def dynatwin_template(dynatwin_template):
    dynatwin_template.create_table(TABLE, "id", ttl="expiresAt")
    return dynatwin_template


def in_an_hour(twin):
    return int(twin.clock.now().timestamp()) + 3600


def test_a_session_expires(dynatwin):
    assert open_session("a", in_an_hour(dynatwin))
    assert is_open("a")
    dynatwin.clock.advance(3600)
    assert not is_open("a")


def test_a_session_is_opened_once(dynatwin):
    assert open_session("a", in_an_hour(dynatwin))
    assert not open_session("a", in_an_hour(dynatwin))


def test_a_throttled_write_is_retried(dynatwin):
    with dynatwin.faults.add("throttle", operation="PutItem", first=2) as throttled:
        assert open_session("a", in_an_hour(dynatwin))
    throttled.assert_fired(2)


@dynatwin.mock
def test_as_with_moto():
    client = boto3.client("dynamodb", region_name="us-east-1")
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    assert open_session("a", 0)
    assert client.scan(TableName=TABLE)["Count"] == 1
