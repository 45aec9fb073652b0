"""What the SDK for Python retries automatically, and retries that find their own write.

In Rust: examples/lessons/src/retries.rs. In JavaScript: wasm/npm/test/retries.test.js, and over HTTP
examples/node-guide/retries.test.mjs.
"""

import time

import pytest
from botocore.exceptions import ClientError

import twin

KEY = {"PK": {"S": "ORDER#1"}, "SK": {"S": "META"}}
VERDICTS = ["throttle", "internalServerError", "serviceUnavailable", "reset", "answerLost"]
MODES = ["legacy", "standard", "adaptive"]


def client(mode):
    """A client with one of botocore's retry modes, which waits half a second for an answer."""
    return twin.client(retries={"mode": mode}, read_timeout=0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_what_fails_twice_passes_at_the_third_attempt(table, mode, verdict):
    with twin.fault(verdict, operation="PutItem", table=table.name, first=2) as rule:
        answer = client(mode).put_item(TableName=table.name, Item=KEY)
    assert answer["ResponseMetadata"]["RetryAttempts"] == 2
    assert (rule.matched, rule.fired) == (3, 2)


@pytest.mark.parametrize("mode", MODES)
def test_patience_ends(table, mode):
    attempts = twin.client(retries={"mode": mode, "total_max_attempts": 3})
    with twin.fault("throttle", operation="PutItem", table=table.name) as rule:
        with pytest.raises(ClientError) as refused:
            attempts.put_item(TableName=table.name, Item=KEY)
    assert refused.value.response["Error"]["Code"] == "ThrottlingException"
    assert rule.fired == 3


@pytest.mark.parametrize("mode", MODES)
def test_the_retry_of_a_lost_answer_meets_its_own_write(table, mode):
    with twin.fault("answerLost", operation="PutItem", table=table.name, first=1) as rule:
        with pytest.raises(ClientError) as refused:
            client(mode).put_item(
                TableName=table.name, Item=KEY, ConditionExpression="attribute_not_exists(PK)"
            )
    assert refused.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert (rule.matched, rule.fired) == (2, 1)
    assert table.scan()["Count"] == 1, "it was carried out all the same"


def test_pauses_are_sent_for_a_settable_clock(table):
    sent = []
    attempts = twin.pass_pauses(client("standard"))
    attempts.meta.events.register_last(
        "before-send.dynamodb", lambda request, **_: sent.append(request.headers.get("X-Dynatwin-Advance"))
    )
    with twin.fault("throttle", operation="PutItem", table=table.name, first=2):
        attempts.put_item(TableName=table.name, Item=KEY)
        attempts.put_item(TableName=table.name, Item=KEY)
    assert [seconds is not None for seconds in sent] == [False, True, True, False]
    assert all(float(seconds) > 0 for seconds in sent if seconds is not None)


def test_a_batch_writer_sends_again_what_comes_back(table):
    # Every second entry is throttled, and boto3's batch_writer sends it again. A share could throttle a last entry, alone
    # in its request, so often that botocore gives up.
    with twin.fault("throttle", operation="BatchWriteItem", table=table.name, everyNth=2) as rule:
        with table.batch_writer() as batch:
            for order in range(100):
                batch.put_item(Item={"PK": f"ORDER#{order}", "SK": "META"})
    assert rule.fired > 0
    assert table.scan()["Count"] == 100


def test_who_ignores_unprocessed_items_loses_data(table):
    puts = [{"PutRequest": {"Item": {**KEY, "SK": {"S": str(order)}}}} for order in range(100)]
    with twin.fault("throttle", operation="BatchWriteItem", table=table.name, share=0.5) as rule:
        for first in range(0, 100, 25):
            twin.client().batch_write_item(RequestItems={table.name: puts[first : first + 25]})
    assert rule.fired > 0
    assert table.scan()["Count"] == 100 - rule.fired


def test_a_late_answer_is_waited_for(table):
    with twin.fault({"wait": 0.2}, operation="PutItem", table=table.name, first=1) as rule:
        start = time.monotonic()
        client("standard").put_item(TableName=table.name, Item=KEY)
    assert time.monotonic() - start >= 0.2
    assert (rule.matched, rule.fired) == (1, 1)
