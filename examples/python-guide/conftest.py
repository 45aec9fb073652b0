"""A table for each test, which is deleted after it."""

import uuid

import pytest

import twin


@pytest.fixture
def table():
    """A table of tasks with the key PK and SK, and an index of them by owner."""
    table = twin.resource().create_table(
        TableName=f"Tasks-{uuid.uuid4()}",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "owner")],
        KeySchema=[
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-owner",
                "KeySchema": [
                    {"AttributeName": "owner", "KeyType": "HASH"},
                    {"AttributeName": "SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    table.wait_until_exists()
    yield table
    table.delete()
    table.wait_until_not_exists()
