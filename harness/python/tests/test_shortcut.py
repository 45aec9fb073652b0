"""A client that skips botocore's HTTP layer behaves like one that does not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from dynatwin import Twin

KEY = {"id": {"S": "a"}}
ITEM = {**KEY, "n": {"N": "1.5"}, "b": {"B": b"\x00\xff"}, "bs": {"BS": [b"x"]}, "m": {"M": {"l": {"L": [{"NULL": True}]}}}}

# Later calls depend on earlier ones.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_tables", {}),
    ("describe_limits", {}),
    ("describe_table", {"TableName": "Orders"}),
    ("put_item", {"TableName": "Orders", "Item": ITEM, "ReturnConsumedCapacity": "TOTAL"}),
    ("get_item", {"TableName": "Orders", "Key": KEY}),
    ("get_item", {"TableName": "Orders", "Key": {"id": {"S": "none"}}}),
    ("put_item", {"TableName": "Orders", "Item": ITEM, "ConditionExpression": "attribute_not_exists(id)"}),
    ("get_item", {"TableName": "None", "Key": KEY}),
    ("scan", {"TableName": "Orders"}),
    ("transact_write_items", {"TransactItems": [{"Put": {"TableName": "Orders", "Item": {"id": {"S": "ö"}}}}]}),
    ("batch_get_item", {"RequestItems": {"Orders": {"Keys": [KEY, {"id": {"S": "ö"}}]}}}),
    ("delete_table", {"TableName": "Orders"}),
]


def ordinary(client: Any) -> Any:
    """The client, with a handler that makes it emit every event."""
    client.meta.events.register("before-send.dynamodb", lambda **_: None)
    return client


def outcome(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
    try:
        answer = getattr(client, operation)(**arguments)
    except ClientError as error:
        answer = {"raised": type(error).__name__, **error.response}
    answer["ResponseMetadata"].pop("RequestId")
    answer["ResponseMetadata"]["HTTPHeaders"].pop("x-amzn-requestid")
    return answer


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_the_results_are_equal(mode: Any) -> None:
    config = Config(retries={"mode": mode})
    outcomes: list[list[Any]] = []
    for change in (lambda client: client, ordinary):
        twin = Twin(seed=7)
        twin.create_table("Orders", "id")
        client = change(twin.client(config=config))
        outcomes.append([outcome(client, operation, dict(arguments)) for operation, arguments in CALLS])
    assert outcomes[0] == outcomes[1]
    metadata = outcomes[0][0]["ResponseMetadata"]
    assert metadata["HTTPStatusCode"] == 200 and metadata["RetryAttempts"] == 0


@pytest.mark.parametrize("change", [lambda client: client, ordinary])
def test_each_attempt_is_one_request(twin: Twin, change: Callable[[Any], Any]) -> None:
    client = change(twin.client())
    twin.watch()
    add = {"TableName": "Orders", "Key": KEY, "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    verdicts: tuple[Any, ...] = ("throttle", "internal_server_error", "reset", "corrupt_checksum")
    for verdict in verdicts:
        with twin.faults.add(verdict, operation="UpdateItem", first=1) as fault:
            answer = client.update_item(**add, ReturnValues="UPDATED_NEW")
        assert fault.fired == 1 and answer["ResponseMetadata"]["RetryAttempts"] == 1, verdict
    assert len(twin.requests()) == 8
    # A corrupt answer follows an applied update.
    assert twin.items("Orders") == [{**KEY, "n": {"N": "5"}}]


@pytest.mark.parametrize("event", ["request-created", "before-sign", "before-send", "response-received", "needs-retry"])
def test_handlers_run(twin: Twin, event: str) -> None:
    client: Any = twin.client()
    client.list_tables()
    seen: list[str] = []
    client.meta.events.register(f"{event}.dynamodb.*", lambda **given: seen.append(given["event_name"]))
    client.list_tables()
    assert seen == [f"{event}.dynamodb.ListTables"]


def test_a_handler_answers_instead_of_the_twin(twin: Twin) -> None:
    from botocore.awsrequest import AWSResponse

    client = twin.client()
    assert client.list_tables()["TableNames"] == ["Orders"]

    def answer(request: Any, **_: Any) -> Any:
        response = AWSResponse(request.url, 200, {}, None)
        response._content = b'{"TableNames": ["Other"]}'
        return response

    client.meta.events.register_first("before-send.dynamodb.ListTables", answer)
    assert client.list_tables()["TableNames"] == ["Other"]


def test_a_stubber_answers_instead_of_the_twin(twin: Twin) -> None:
    from botocore.stub import Stubber

    client = twin.client()
    with Stubber(client) as stubber:
        stubber.add_response("list_tables", {"TableNames": ["Stubbed"]}, {})
        assert client.list_tables()["TableNames"] == ["Stubbed"]
    assert client.list_tables()["TableNames"] == ["Orders"]


def test_the_log_has_requests(twin: Twin, caplog: pytest.LogCaptureFixture) -> None:
    client = twin.client()
    with caplog.at_level(logging.DEBUG, "botocore"):
        client.list_tables()
    assert any("Sending http request" in record.getMessage() for record in caplog.records)


def test_another_twin_takes_over(twin: Twin) -> None:
    client = twin.client()
    with Twin(seed=8) as other:
        other.attach(client)
        assert client.list_tables()["TableNames"] == []


def test_presigned_urls(twin: Twin) -> None:
    client = twin.client(region_name="eu-west-1")
    url = client.generate_presigned_url("list_tables")
    assert url.startswith("https://dynamodb.eu-west-1.amazonaws.com/"), url
