"""DynamoDB from Python: the resource, its tables and batch writers, waiters, paginators and conditions."""

import time
from decimal import Decimal

import boto3.dynamodb.types
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

import twin

IS_NEW = Attr("PK").not_exists() & Attr("SK").not_exists()


def task(number, **attributes):
    return {"PK": "PROJECT#alpha", "SK": f"TASK#{number:03}", "status": "OPEN", "owner": "masa", **attributes}


def fails(code):
    """Expects an error of the service."""
    return pytest.raises(ClientError, check=lambda error: error.response["Error"]["Code"] == code)


def test_an_item_comes_back_as_it_went_in(table):
    item = task(
        1,
        price=Decimal("12.50"),
        large=Decimal("12345678901234567890123456789012345678"),
        done=False,
        nothing=None,
        tags={"a", "b"},
        sizes={Decimal(1), Decimal("2.5")},
        picture=boto3.dynamodb.types.Binary(b"\x00\x7f\xff"),
        deep={"list": [Decimal(1), "x", [{}]]},
    )
    table.put_item(Item=item)
    key = {"PK": item["PK"], "SK": item["SK"]}
    assert table.get_item(Key=key, ConsistentRead=True)["Item"] == item
    assert "Item" not in table.get_item(Key={**key, "SK": "TASK#002"})
    old = table.delete_item(Key=key, ReturnValues="ALL_OLD")["Attributes"]
    assert old == item


def test_a_task_is_created_once_and_completed_once_by_its_owner(table):
    table.put_item(Item=task(1), ConditionExpression=IS_NEW)
    with fails("ConditionalCheckFailedException"):
        table.put_item(Item=task(1), ConditionExpression=IS_NEW)

    def complete(owner):
        return table.update_item(
            Key={"PK": "PROJECT#alpha", "SK": "TASK#001"},
            UpdateExpression="SET #status = :done ADD version :one",
            ConditionExpression=Attr("owner").eq(owner) & Attr("status").ne("DONE"),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":done": "DONE", ":one": 1},
            ReturnValues="ALL_NEW",
        )["Attributes"]

    with fails("ConditionalCheckFailedException"):
        complete("eve")
    assert complete("masa") == task(1, status="DONE", version=1)
    with fails("ConditionalCheckFailedException"):
        complete("masa")


def test_a_batch_writer_writes_and_deletes(table):
    with table.batch_writer(overwrite_by_pkeys=["PK", "SK"]) as batch:
        for number in range(60):
            batch.put_item(Item=task(number))
        batch.put_item(Item=task(59, status="DONE"))
        for number in range(10):
            batch.delete_item(Key={"PK": "PROJECT#alpha", "SK": f"TASK#{number:03}"})
    found = table.query(KeyConditionExpression=Key("PK").eq("PROJECT#alpha"))["Items"]
    assert [item["SK"] for item in found] == [f"TASK#{number:03}" for number in range(10, 60)]
    assert found[-1]["status"] == "DONE"


def test_conditions_of_queries_and_filters(table):
    with table.batch_writer() as batch:
        for number in range(20):
            batch.put_item(Item=task(number, owner="masa" if number % 2 else "ken", effort=number))
        batch.put_item(Item={"PK": "PROJECT#alpha", "SK": "META"})

    def numbers(**query):
        return [int(item["effort"]) for item in table.query(**query)["Items"]]

    project = Key("PK").eq("PROJECT#alpha")
    assert numbers(KeyConditionExpression=project & Key("SK").begins_with("TASK#00")) == list(range(10))
    assert numbers(KeyConditionExpression=project & Key("SK").between("TASK#003", "TASK#005")) == [3, 4, 5]
    assert numbers(
        KeyConditionExpression=project & Key("SK").begins_with("TASK#"),
        FilterExpression=Attr("effort").gte(15) & ~Attr("owner").is_in(["ken"]) & Attr("status").contains("PE"),
        ScanIndexForward=False,
    ) == [19, 17, 15]
    assert numbers(
        IndexName="by-owner", KeyConditionExpression=Key("owner").eq("ken") & Key("SK").lt("TASK#005")
    ) == [0, 2, 4]
    page = table.query(
        KeyConditionExpression=project, Select="COUNT", ReturnConsumedCapacity="TOTAL", ConsistentRead=True
    )
    assert (page["Count"], page["ConsumedCapacity"]["CapacityUnits"]) == (21, 1.0)
    with fails("ValidationException"):
        table.query(KeyConditionExpression=Key("SK").eq("TASK#001"))


def test_paginators_see_everything_once(table):
    with table.batch_writer() as batch:
        for number in range(50):
            batch.put_item(Item=task(number, note="x" * 1000))
    client = twin.client()
    query = {
        "TableName": table.name,
        "KeyConditionExpression": "PK = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "PROJECT#alpha"}},
    }
    pages = list(client.get_paginator("query").paginate(**query, PaginationConfig={"PageSize": 20}))
    assert [len(page["Items"]) for page in pages] == [20, 20, 10]
    keys = [item["SK"]["S"] for page in pages for item in page["Items"]]
    assert keys == [f"TASK#{number:03}" for number in range(50)]

    # A paginator continues where another stopped.
    first = client.get_paginator("query").paginate(**query, PaginationConfig={"MaxItems": 30}).build_full_result()
    rest = client.get_paginator("query").paginate(**query, PaginationConfig={"StartingToken": first["NextToken"]})
    assert len(first["Items"]) == 30
    assert sum(len(page["Items"]) for page in rest) == 20

    scanned = client.get_paginator("scan").paginate(TableName=table.name, Limit=7)
    assert sum(page["Count"] for page in scanned) == 50
    names = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
    assert table.name in names.build_full_result()["TableNames"]


def test_waiters_and_what_the_resource_knows_of_its_table(table):
    client = twin.client()
    client.get_waiter("table_exists").wait(TableName=table.name)
    table.load()
    assert table.table_status == "ACTIVE"
    assert [key["AttributeName"] for key in table.key_schema] == ["PK", "SK"]
    assert table.billing_mode_summary["BillingMode"] == "PAY_PER_REQUEST"
    assert table.table_arn == f"arn:aws:dynamodb:us-west-2:000000000000:table/{table.name}"

    other = twin.resource().create_table(
        TableName=f"{table.name}-other",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    other.wait_until_exists()
    with fails("ResourceInUseException"):
        twin.resource().create_table(
            TableName=other.name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
    other.delete()
    client.get_waiter("table_not_exists").wait(TableName=other.name)
    with fails("ResourceNotFoundException"):
        other.load()


def test_a_transaction_tells_who_cancelled_it(table):
    table.put_item(Item=task(1))
    client = twin.resource().meta.client
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table.name, "Item": task(2)}},
                {
                    "Put": {
                        "TableName": table.name,
                        "Item": task(1),
                        "ConditionExpression": "attribute_not_exists(PK)",
                    }
                },
            ]
        )
    reasons = [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]]
    assert reasons == ["None", "ConditionalCheckFailed"]
    assert table.scan()["Count"] == 1


def test_a_batch_of_keys_and_a_statement(table):
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item(Item=task(number))
    keys = [{"PK": "PROJECT#alpha", "SK": f"TASK#{number:03}"} for number in range(5, 35)]
    answer = twin.resource().batch_get_item(RequestItems={table.name: {"Keys": keys}})
    assert len(answer["Responses"][table.name]) == 25
    assert answer["UnprocessedKeys"] == {}
    found = twin.resource().meta.client.execute_statement(
        Statement=f'SELECT SK FROM "{table.name}" WHERE PK = ? AND SK < ?',
        Parameters=["PROJECT#alpha", "TASK#002"],
    )
    assert found["Items"] == [{"SK": "TASK#000"}, {"SK": "TASK#001"}]


def test_a_session_is_deleted_after_its_time(table):
    twin.client().update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expiresAt"}
    )
    # The emulator's clock may have advanced before.
    now = twin.control("GET", "clock")["now"]
    ends = int(time.mktime(time.strptime(now[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone) + 7 * 24 * 3600
    table.put_item(Item={"PK": "USER#masa", "SK": "SESSION#1", "expiresAt": ends})
    twin.advance(6 * 24 * 3600)
    assert table.scan()["Count"] == 1
    twin.advance(2 * 24 * 3600)
    assert table.scan()["Count"] == 0


def test_numbers_that_dynamodb_cannot_hold_are_refused(table):
    with fails("ValidationException"):
        twin.client().put_item(TableName=table.name, Item={**KEY, "n": {"N": "1E126"}})
    with pytest.raises(TypeError, match="Float types are not supported"):
        table.put_item(Item=task(1, price=12.5))


KEY = {"PK": {"S": "PROJECT#alpha"}, "SK": {"S": "TASK#1"}}
