"""Projects that move from another emulator, before and after the change that docs/migrate.md describes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = "from moto import mock_aws"
AFTER = "from dynatwin import mock as mock_aws"

# moto's guide: the decorator on functions and classes, the context manager, a fixture, and start and stop.
APPLICATION = """
    import boto3

    TABLE = {
        "TableName": "users",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }

    def create():
        boto3.resource("dynamodb", region_name="us-east-1").create_table(**TABLE).wait_until_exists()

    def save(name):
        boto3.resource("dynamodb", region_name="us-east-1").Table("users").put_item(Item={"id": name})

    def names():
        table = boto3.resource("dynamodb", region_name="us-east-1").Table("users")
        return sorted(item["id"] for item in table.scan()["Items"])
"""

TESTS = """
    import os, unittest
    import boto3, pytest
    from app import create, names, save
    IMPORT

    @pytest.fixture(autouse=True)
    def aws_credentials(monkeypatch):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    @mock_aws
    def test_decorator():
        create()
        save("ada")
        assert names() == ["ada"]

    @mock_aws()
    def test_decorator_with_parentheses():
        create()
        assert names() == []

    def test_context_manager():
        with mock_aws():
            create()
            save("ada")
            assert names() == ["ada"]

    @pytest.fixture
    def users(aws_credentials):
        with mock_aws():
            create()
            yield boto3.client("dynamodb", region_name="us-east-1")

    def test_fixture(users):
        save("ada")
        assert users.get_item(TableName="users", Key={"id": {"S": "ada"}})["Item"] == {"id": {"S": "ada"}}

    def test_fixture_is_fresh(users):
        assert users.scan(TableName="users")["Count"] == 0

    @mock_aws
    def test_nested(users):
        save("ada")
        with mock_aws():
            assert names() == ["ada"]

    def test_start_and_stop():
        mock = mock_aws()
        mock.start()
        create()
        assert names() == []
        mock.stop()

    @mock_aws
    class TestClass:
        def test_create(self):
            create()
            save("ada")

        def test_create_again(self):
            create()
            assert names() == []

    class TestCase(unittest.TestCase):
        mock = mock_aws()

        def setUp(self):
            self.mock.start()
            create()

        def tearDown(self):
            self.mock.stop()

        def test_save(self):
            save("ada")
            self.assertEqual(names(), ["ada"])

        def test_empty(self):
            self.assertEqual(names(), [])

    @mock_aws
    def test_errors():
        create()
        client = boto3.client("dynamodb", region_name="us-east-1")
        with pytest.raises(client.exceptions.ResourceInUseException):
            create()
        save("ada")
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            client.put_item(TableName="users", Item={"id": {"S": "ada"}}, ConditionExpression="attribute_not_exists(id)")
        with pytest.raises(client.exceptions.TransactionCanceledException):
            client.transact_write_items(TransactItems=[
                {"Delete": {"TableName": "users", "Key": {"id": {"S": "eve"}}, "ConditionExpression": "attribute_exists(id)"}},
            ])
"""


@pytest.mark.parametrize("change", [BEFORE, AFTER])
def test_from_moto(pytester: pytest.Pytester, change: str) -> None:
    pytester.makepyfile(app=APPLICATION, test_app=TESTS.replace("IMPORT", change))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(passed=12)


BESIDE = """
    import boto3
    import dynatwin
    from moto import mock_aws
    from app import create, names, save

    def test_both(monkeypatch):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        with mock_aws(), dynatwin.mock() as twin:
            s3 = boto3.client("s3", region_name="us-east-1")
            s3.create_bucket(Bucket="photos")
            create()
            save("ada")
            assert names() == ["ada"] and len(twin.items("users")) == 1
            assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["photos"]
        with mock_aws():
            create()
            assert names() == []
"""


def test_beside_moto(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(app=APPLICATION, test_app=BESIDE)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio").assert_outcomes(passed=1)


# An application that finds its services by the environment, as with LocalStack.
CONFIGURED = """
import boto3
dynamodb = boto3.client("dynamodb")
table = dynamodb.create_table(
    TableName="Orders",
    BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
)["TableDescription"]
dynamodb.put_item(TableName="Orders", Item={"id": {"S": "a"}})
streams = boto3.client("dynamodbstreams")
(shard,) = streams.describe_stream(StreamArn=table["LatestStreamArn"])["StreamDescription"]["Shards"]
iterator = streams.get_shard_iterator(
    StreamArn=table["LatestStreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
)["ShardIterator"]
print([record["eventName"] for record in streams.get_records(ShardIterator=iterator)["Records"]])
print(boto3.client("sqs").meta.endpoint_url)
"""


def test_from_localstack() -> None:
    command = [str(Path(sys.executable).with_name("dynatwin")), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            endpoint = next(word for word in server.stdout.readline().split() if word.startswith("http://127"))
            environment = {
                "PATH": os.environ["PATH"],
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": "http://localhost:4566",
                "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
                "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint,
            }
            application = [sys.executable, "-c", CONFIGURED]
            printed = subprocess.run(application, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            assert printed.splitlines() == ["['INSERT']", "http://localhost:4566"]
        finally:
            server.terminate()
