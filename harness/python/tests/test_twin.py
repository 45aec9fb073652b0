"""A twin and its clients."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import datetime, timedelta, timezone
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import dynatwin
from dynatwin import Twin, controls

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
A = {"id": {"S": "a"}}
JSON = {"content-type": "application/x-amz-json-1.0"}


def test_a_client_has_the_results_and_errors_of_the_api(twin: Twin) -> None:
    client = twin.client("dynamodb")
    client.put_item(TableName="Orders", Item={**A, "total": {"N": "12.50"}, "raw": {"B": b"\x00\xff"}})
    item = client.get_item(TableName="Orders", Key=A)["Item"]
    assert item == {"id": {"S": "a"}, "total": {"N": "12.5"}, "raw": {"B": b"\x00\xff"}}
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as refused:
        client.put_item(TableName="Orders", Item=A, ConditionExpression="attribute_not_exists(id)")
    assert refused.value.response["Error"]["Message"] == "The conditional request failed"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="Nowhere")


def test_a_resource_has_pythons_types(twin: Twin) -> None:
    table = twin.resource("dynamodb").Table("Orders")
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item({"id": str(number), "number": number, "tags": {"x", "y"}})
    assert table.get_item(Key={"id": "7"})["Item"] == {"id": "7", "number": 7, "tags": {"x", "y"}}
    assert len(twin.items("Orders")) == 30


def test_streams() -> None:
    twin = Twin(seed=7)
    description = twin.create_table("Orders", "id", stream="NEW_IMAGE")
    twin.client("dynamodb").put_item(TableName="Orders", Item=A)
    streams = twin.client("dynamodbstreams")
    arn = description["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert [record["dynamodb"]["NewImage"] for record in records] == [A]
    assert twin.split_shards("Orders")
    with pytest.raises(KeyError, match="Nowhere"):
        twin.split_shards("Nowhere")


def test_access_keys_and_regions_have_tables_of_their_own(twin: Twin) -> None:
    twin.create_table("Users", "id", region="eu-central-1", access_key="other")
    client = twin.client("dynamodb", region_name="eu-central-1", aws_access_key_id="other")
    assert client.list_tables()["TableNames"] == ["Users"] == twin.tables(region="eu-central-1", access_key="other")
    assert twin.tables() == ["Orders"]
    shared = Twin(seed=7, shared_tables=True)
    shared.create_table("Users", "id")
    assert shared.client(region_name="eu-central-1", aws_access_key_id="other").list_tables()["TableNames"] == ["Users"]


def test_methods_act_on_the_tables_of_their_caller() -> None:
    twin = Twin(seed=7)
    caller: dict[str, Any] = {"region": "eu-central-1", "access_key": "other"}
    twin.create_table("Users", "id", global_indexes={"by-date": "date"}, **caller)
    calls: list[tuple[Any, ...]] = [
        (twin.items, "Users"),
        (twin.item, "Users", A),
        (twin.expire_now, "Users"),
        (twin.split_shards, "Users"),
        (twin.indexes, "Users"),
        (twin.pause_index, "Users", "by-date"),
        (twin.resume_index, "Users", "by-date"),
        (twin.set_index_lag, "Users", "by-date", 1),
        (twin.set_index_lag, "Users", "by-date", None),
        (twin.replication, "Users"),
        (twin.watch_heat, "Users"),
        (twin.heat, "Users"),
        (twin.hottest_keys, "Users"),
    ]
    for method, *arguments in calls:
        method(*arguments, **caller)
        for wrong in ({}, {"region": "eu-central-1"}, {"access_key": "other"}):
            with pytest.raises(KeyError, match="Users"):
                method(*arguments, **wrong)
    twin.set_table_conditions("Users", {"throttles": 1.0}, **caller)
    twin.create_table("Users", "id")
    put = json.dumps({"TableName": "Users", "Item": A})
    assert [twin.dispatch("PutItem", put, **of).status for of in ({}, caller)] == [200, 400]
    twin.set_table_conditions("Users", None)
    assert twin.dispatch("PutItem", put, **caller).status == 400
    twin.set_table_conditions("Users", None, **caller)
    with twin.capacity_spent(**caller) as spent:
        assert [twin.dispatch("PutItem", put, **of).status for of in ({}, caller)] == [200, 200]
    assert spent.write("Users") == 1


def test_two_twins_share_nothing(twin: Twin) -> None:
    other = Twin(seed=7)
    client, others = twin.client(), other.client()
    assert (client.list_tables()["TableNames"], others.list_tables()["TableNames"]) == (["Orders"], [])


def test_equal_seeds_give_equal_answers() -> None:
    def answers() -> list[Any]:
        twin = Twin(seed=7, conditions="storm")
        client = twin.client(config=Config(retries={"total_max_attempts": 1}))
        twin.create_table("Orders", "id")

        def answer(number: int) -> Any:
            try:
                return client.put_item(TableName="Orders", Item={"id": {"S": str(number)}})["ResponseMetadata"]
            except ClientError as error:
                return error.response

        return [answer(number) for number in range(50)]

    assert answers() == answers()


def test_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2030, 6, 1, 12, tzinfo=timezone.utc)
    for clock, moment in [("settable", START), ("2030-06-01T12:00:00Z", noon), (noon, noon)]:
        assert Twin(seed=1, clock=clock).clock.now() == moment
    assert Twin(seed=1).clock.now() == START
    monkeypatch.setattr("time.time", lambda: noon.timestamp())
    assert Twin().clock.now() == noon and Twin().clock.settable
    monkeypatch.undo()
    system = Twin(clock="system").clock
    assert not system.settable and system.speed == 1 and abs(system.now() - datetime.now(timezone.utc)) < timedelta(hours=1)
    fast = Twin(clock={"start": noon, "speed": 1e6}).clock
    assert fast.speed == 1e6 and fast.now() >= noon
    fast.sleep(3600)
    assert fast.now() >= noon + timedelta(hours=1)
    # Without a start the clock begins at the present, and without a speed it runs like the system's.
    before = datetime.now(timezone.utc)
    present = Twin(clock={"speed": 60}).clock
    assert present.speed == 60 and present.now() >= before - timedelta(microseconds=1)
    started = Twin(clock={"start": noon}).clock
    assert started.speed == 1 and started.now() >= noon
    empty = Twin(seed=1, clock={}).clock
    assert not empty.settable and empty.speed == 1 and empty.now() >= before - timedelta(microseconds=1)
    for wrong in ({"speed": 0}, {"rate": 2}, "", "noon"):
        with pytest.raises(ValueError):
            Twin(clock=wrong)


def test_the_clock_moves_only_forward(twin: Twin) -> None:
    clock = twin.clock
    clock.advance(timedelta(days=1))
    clock.set("2026-01-03T00:00:00Z")
    clock.sleep(60)
    assert clock.now() == START + timedelta(days=2, minutes=1)
    with pytest.raises(ValueError, match="The clock cannot go back: it is 2026-01-03T00:01:00"):
        clock.set(START)
    with pytest.raises(ValueError, match="A duration must be a number of seconds not below 0"):
        clock.advance(-1)
    clock.freeze()
    assert clock.frozen
    clock.advance(1)
    clock.unfreeze()
    assert not clock.frozen and clock.now() == START + timedelta(days=2, seconds=61)


async def test_sleeping_on_a_fast_clock_takes_less_real_time() -> None:
    clock = Twin(clock={"start": START, "speed": 1000}).clock
    began = time.monotonic()
    clock.sleep(10)
    await clock.async_sleep(10)
    assert clock.now() >= START + timedelta(seconds=20) and time.monotonic() - began < 15


def test_time_to_live_deletes_by_the_clock() -> None:
    twin = Twin(seed=7)
    twin.create_table("Sessions", "id", ttl="expiresAt")
    client = twin.client()

    def put(key: str, lifetime: int) -> None:
        expires_at = int(twin.clock.now().timestamp()) + lifetime
        client.put_item(TableName="Sessions", Item={"id": {"S": key}, "expiresAt": {"N": str(expires_at)}})

    put("a", 3600)
    assert twin.next_due() == START + timedelta(hours=1)
    twin.clock.advance(3600)
    assert twin.items("Sessions") == []
    twin.conditions = {"time_to_live": timedelta(hours=48)}
    put("b", 60)
    twin.clock.advance(61)
    twin.run_due()
    assert len(twin.items("Sessions")) == 1
    assert (twin.expire_now("Sessions"), twin.items("Sessions")) == (1, [])


def test_items_are_those_of_the_client(twin: Twin) -> None:
    item = {
        "id": {"S": "a"},
        "b": {"B": b"\x00"},
        "bs": {"BS": [b"1", b"2"]},
        "l": {"L": [{"NULL": True}, {"BOOL": False}]},
        "m": {"M": {"n": {"N": "1"}}},
        "ns": {"NS": ["1"]},
        "ss": {"SS": ["x"]},
    }
    twin.client().put_item(TableName="Orders", Item=item)
    assert twin.items("Orders") == [item]
    assert twin.item("Orders", A) == item and twin.item("Orders", {"id": {"S": "b"}}) is None
    with pytest.raises(KeyError, match="has no table 'Nowhere'"):
        twin.items("Nowhere")
    plain: Any = {"id": "a"}
    with pytest.raises(TypeError, match="format of boto3's client"):
        twin.item("Orders", plain)
    twin.create_table("Numbers", ("n", "N"))
    twin.client().put_item(TableName="Numbers", Item={"n": {"N": "1"}})
    assert twin.item("Numbers", {"n": {"N": "1.0"}}) == {"n": {"N": "1"}}


def test_tables_of_every_shape() -> None:
    twin = Twin(seed=7, conditions="aws")
    table = twin.create_table(
        "Orders",
        "customer",
        ("placedAt", "N"),
        global_indexes={"by-status": ["status", "customer"], "by-total": ("total", "N")},
        local_indexes={"by-name": "name"},
        ttl="expiresAt",
        stream="NEW_AND_OLD_IMAGES",
        throughput=(5, 6),
    )
    assert table["TableStatus"] == "ACTIVE" and twin.clock.now() > START
    keys = {index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]] for index in table["GlobalSecondaryIndexes"]}
    assert keys == {"by-status": ["status", "customer"], "by-total": ["total"]}
    assert table["LocalSecondaryIndexes"][0]["KeySchema"][1]["AttributeName"] == "name"
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    with pytest.raises(ValueError, match="CreateTable: ResourceInUseException: Table already exists: Orders"):
        twin.create_table("Orders", "id")


def test_units_and_types_of_tables_and_indexes() -> None:
    twin = Twin(seed=7)
    indexes: Any = {"global_indexes": {"by-total": ["day", ("total", "N")]}, "local_indexes": {"by-size": ("size", "B")}}
    table = twin.create_table("Orders", "id", "at", throughput=(5, 6), **indexes)
    for units in (table["ProvisionedThroughput"], table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]):
        assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (5, 6)
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    assert types == {"id": "S", "at": "S", "day": "S", "total": "N", "size": "B"}
    keys = [[key["AttributeName"], key["KeyType"]] for key in table["LocalSecondaryIndexes"][0]["KeySchema"]]
    assert keys == [["id", "HASH"], ["size", "RANGE"]]


def test_conditions(twin: Twin) -> None:
    twin.conditions = "aws"
    assert twin.conditions["stale_reads"] == 0.004
    assert set(dynatwin.Conditions.__annotations__) == {"base", *twin.conditions}
    twin.conditions = {"base": "calm", "capacity": {"partition_write": 10, "heat_split": "never"}, "latency": {"per_kilobyte": 1}}
    capacity = twin.conditions["capacity"]
    assert isinstance(capacity, dict) and (capacity["partition_write"], capacity["heat_split"]) == (10, "never")
    twin.set_table_conditions("Orders", {"base": "calm", "throttles": 1.0})
    client = twin.client(config=Config(retries={"total_max_attempts": 1}))
    with pytest.raises(ClientError, match="Throughput exceeds"):
        client.put_item(TableName="Orders", Item=A)
    twin.set_table_conditions("Orders", None)
    client.put_item(TableName="Orders", Item=A)
    wrong: Any = {"index_lag": 1}
    with pytest.raises(ValueError, match='has no member "index_lag"; its members are base, time_to_live, index_propagation'):
        twin.conditions = wrong
    with pytest.raises(ValueError):
        Twin(conditions=wrong)
    restored = Twin(seed=7, conditions="storm")
    storm = restored.conditions
    restored.conditions = "calm"
    restored.reset(all=True)
    assert restored.conditions == storm


def test_indexes() -> None:
    twin = Twin(seed=7)
    twin.create_table("Orders", "id", global_indexes={"by-date": "date"})
    client = twin.client()

    def indexed() -> int:
        return client.scan(TableName="Orders", IndexName="by-date")["Count"]

    twin.pause_index("Orders", "by-date")
    client.put_item(TableName="Orders", Item={**A, "date": {"S": "1"}})
    (state,) = twin.indexes("Orders")
    assert (state.paused, state.waiting, indexed()) == (True, 1, 0)
    twin.resume_index("Orders", "by-date")
    assert indexed() == 1
    twin.set_index_lag("Orders", "by-date", 5)
    client.put_item(TableName="Orders", Item={"id": {"S": "b"}, "date": {"S": "1"}})
    assert (indexed(), twin.indexes("Orders")[0].lag) == (1, 5)
    twin.clock.advance(5)
    assert indexed() == 2
    twin.set_index_lag("Orders", "by-date", None)
    with pytest.raises(KeyError, match="by-name"):
        twin.pause_index("Orders", "by-name")


def test_replication() -> None:
    twin = Twin(seed=7)
    twin.create_table("Orders", "id")
    here, there = twin.client(), twin.client(region_name="eu-west-1")
    here.update_table(TableName="Orders", ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])

    def arrived() -> int:
        return there.scan(TableName="Orders")["Count"]

    here.put_item(TableName="Orders", Item=A)
    assert arrived() == 1
    twin.pause_replication("Orders", region="eu-west-1")
    here.put_item(TableName="Orders", Item={"id": {"S": "b"}})
    (state,) = twin.replication("Orders")
    assert (state.region, state.paused, state.leaving, arrived()) == ("eu-west-1", True, 1, 1)
    twin.resume_replication("Orders", region="eu-west-1")
    assert arrived() == 2
    twin.set_replication_lag("Orders", "eu-west-1", 5)
    here.put_item(TableName="Orders", Item={"id": {"S": "c"}})
    assert (arrived(), twin.replication("Orders")[0].lag) == (2, 5)
    twin.clock.advance(5)
    assert arrived() == 3
    twin.set_replication_lag("Orders", "eu-west-1", None)
    with pytest.raises(KeyError, match="us-west-2"):
        twin.pause_replication("Orders", "us-west-2")


def test_faults(twin: Twin) -> None:
    client = twin.client(config=Config(retries={"total_max_attempts": 1}))
    with twin.faults.add({"exception": "TransactionConflictException"}, operation="PutItem", every_nth=2) as conflict:
        client.put_item(TableName="Orders", Item=A)
        with pytest.raises(client.exceptions.ClientError, match="TransactionConflictException"):
            client.put_item(TableName="Orders", Item=A)
        conflict.assert_fired(1)
        with pytest.raises(AssertionError, match="fired 1 times of 2 that matched, not 3"):
            conflict.assert_fired(3)
        assert (conflict.matched, conflict.fired) == (2, 1)
    assert twin.faults.report() == [] and (conflict.matched, conflict.fired) == (2, 1)
    conflict.remove()
    conflict.assert_fired(1)
    later = twin.faults.add("service_unavailable", table="Orders", after=timedelta(minutes=1), lasting=60)
    client.put_item(TableName="Orders", Item=A)
    with pytest.raises(AssertionError, match="never acted"):
        twin.assert_faults_fired()
    twin.clock.advance(60)
    with pytest.raises(ClientError, match="ServiceUnavailable"):
        client.put_item(TableName="Orders", Item=A)
    twin.assert_faults_fired()
    later.remove()
    later.remove()
    outage = twin.faults.start_outage("throttle-storm", table="Orders", lasting=300)
    assert len(twin.faults.report()) == len(outage) > 0
    twin.faults.clear()
    assert [fault.report() for fault in outage] == [None] * len(outage)
    with pytest.raises(ValueError, match="GetItem"):
        twin.faults.add({"exception": "TransactionConflictException"}, operation="GetItem")


def test_a_fault_rule_has_the_scope_that_it_is_given(twin: Twin) -> None:
    moment = datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc)
    scopes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"operation": "Query", "table": "Orders", "index": "by-date"}, {}),
        ({"caller": "other", "region": "eu-west-1", "partition": "a"}, {}),
        ({"partition_prefix": "a", "until": moment}, {"partitionPrefix": "a", "until": "2026-01-01T00:00:01.500Z"}),
        ({"after": timedelta(seconds=2), "lasting": 3}, {"after": 2, "for": 3}),
        ({"first": 1}, {}),
        ({"nth": 2}, {}),
        ({"every_nth": 3}, {"everyNth": 3}),
        ({"share": 0.5}, {}),
    ]
    for scope, words in scopes:
        twin.faults.clear()
        twin.faults.add("reset", **scope)
        (report,) = twin.faults.report()
        assert report.rule == {"verdict": "reset", **(words or scope)}, scope
        twin.control(controls.add_fault(report.rule))
        assert [again.rule for again in twin.faults.report()] == [report.rule] * 2


def test_the_request_log(twin: Twin) -> None:
    client = twin.client()
    client.scan(TableName="Orders")
    with pytest.raises(AssertionError, match="the twin is not watched"):
        twin.assert_no_scans()
    twin.watch()
    client.put_item(TableName="Orders", Item=A)
    with pytest.raises(ClientError):
        client.update_item(TableName="Orders", Key={"id": {"S": "b"}}, ConditionExpression="attribute_exists(id)")
    put, update = twin.requests()
    assert (put.operation, put.table, put.key, put.status, put.write_units) == ("PutItem", "Orders", A, 200, 1)
    assert (put.at, put.access_key, put.region, put.delivery) == (START, "dynatwin", "us-east-1", "whole")
    assert (put.accesses[0].act, update.error) == ("Put", "ConditionalCheckFailedException")
    assert str(update).endswith('UpdateItem Orders {"id": {"S": "b"}} -> 400 ConditionalCheckFailedException')
    twin.assert_no_scans()
    client.scan(TableName="Orders")
    (scan,) = twin.scans()
    assert (scan.operation, scan.scanned, scan.partition_keys) == ("Scan", 1, ((None, "id"),))
    with pytest.raises(AssertionError, match='A Query reads only the items of one partition key: KeyConditionExpression "id = '):
        twin.assert_no_scans()
    twin.forget_requests()
    assert twin.requests() == [] and twin.watched
    twin.watch(False)
    assert not twin.watched


def test_what_a_recorded_request_cost(twin: Twin) -> None:
    twin.create_table("Indexed", "id", global_indexes={"by-date": "date"})
    client = twin.client()
    for number in range(3):
        client.put_item(TableName="Indexed", Item={"id": {"S": str(number)}, "date": {"S": "1"}})
    twin.watch()
    filters: Any = {"FilterExpression": "id = :a", "ExpressionAttributeValues": {":a": {"S": "1"}}}
    client.scan(TableName="Indexed", IndexName="by-date", **filters)
    client.scan(TableName="Indexed", IndexName="by-date", Limit=1)
    client.put_item(TableName="Indexed", Item={**A, "date": {"S": "1"}})
    filtered, _, put = twin.requests()
    assert (filtered.number, filtered.scanned, filtered.returned) == (1, 3, 1)
    assert (filtered.read_units, filtered.write_units, filtered.accesses[0].index) == (0.5, 0, "by-date")
    assert (filtered.accesses[0].read_units, filtered.accesses[0].write_units) == (0.5, 0)
    assert (put.read_units, put.write_units, put.accesses[0].read_units, put.accesses[0].write_units) == (0, 2, 0, 2)
    (scan,) = twin.scans()
    assert (scan.table, scan.index, scan.times, scan.scanned) == ("Indexed", "by-date", 2, 4)
    assert (scan.access_key, scan.region, scan.first) == ("dynatwin", "us-east-1", START)
    with pytest.raises(AssertionError) as reported:
        twin.assert_no_scans()
    for text in [
        "- Scan of index by-date of Indexed by access key dynatwin in us-east-1, first at 2026-01-01T00:00:00+00:00: "
        "4 items read in 2 pages.",
        "A Query reads only the items of one partition key: "
        'IndexName "by-date" and KeyConditionExpression "date = :value", or KeyConditionExpression "id = :value".',
    ]:
        assert text in str(reported.value)
    twin.forget_requests()
    client.execute_statement(Statement='SELECT * FROM "Indexed"')
    with pytest.raises(AssertionError, match='FROM "Indexed" WHERE "id" = ., or FROM "Indexed"."by-date" WHERE "date" = .'):
        twin.assert_no_scans()
    twin.faults.add("reset", operation="GetItem", first=1)
    client.get_item(TableName="Indexed", Key=A)
    assert "-> 500, reset InternalServerError" in str(twin.requests()[-2])


def test_heat_has_reads_writes_and_throttles() -> None:
    twin = Twin(seed=7, conditions={"capacity": {"burst": 0}})
    twin.create_table("Orders", "id", throughput=(1, 2))
    client = twin.client(config=Config(retries={"total_max_attempts": 1}))
    for attempts, request in [
        (4, lambda: client.put_item(TableName="Orders", Item=A)),
        (2, lambda: client.get_item(TableName="Orders", Key=A, ConsistentRead=True)),
    ]:
        for _ in range(attempts):
            with contextlib.suppress(ClientError):
                request()
    (heat,) = twin.heat("Orders").resources
    (partition,) = (each for each in heat.partitions if each.write_units)
    assert (heat.read_units, heat.write_units, partition.read_units, partition.write_units) == (1, 2, 1, 2)
    assert (sum(heat.read_throttles.values()), sum(heat.write_throttles.values())) == (1, 2)
    assert (heat.read_left, heat.write_left, partition.bytes > 0) == (0, 0, True)
    assert int(heat.partitions[0].first, 16) == 0 and int(heat.partitions[-1].last, 16) == 2**64 - 1


def test_metrics_and_heat(twin: Twin) -> None:
    twin.watch()
    client = twin.client()
    for _ in range(3):
        client.put_item(TableName="Orders", Item=A)
    assert twin.metric("ConsumedWriteCapacityUnits", TableName="Orders") == 3
    assert twin.metric("ConsumedWriteCapacityUnits", TableName="Nowhere") == 0
    assert twin.metrics(region="eu-west-1") == []
    points = {point.name: point for point in twin.metrics_by_minute()}
    assert points["ConsumedWriteCapacityUnits"].sum == 3 and points["ConsumedWriteCapacityUnits"].start == START
    (hot,) = twin.hottest_keys("Orders")
    assert (hot.key, hot.units) == ({"S": "a"}, 3)
    heat = twin.heat("Orders").resources[0]
    assert heat.write_units == 3 and sum(partition.write_units for partition in heat.partitions) == 3
    twin.watch_heat("Orders", False)
    twin.watch_heat("Orders")


def test_capacity_spent(twin: Twin) -> None:
    twin.create_table("Indexed", "id", global_indexes={"by-date": "date"})
    client = twin.client()
    with twin.capacity_spent() as spent:
        client.put_item(TableName="Indexed", Item={**A, "date": {"S": "1"}})
        client.get_item(TableName="Orders", Key=A)
    client.put_item(TableName="Orders", Item=A)
    assert (spent.write("Indexed"), spent.index_write("Indexed", "by-date"), spent.read("Orders")) == (1, 1, 0.5)
    assert (spent.total_write, spent.total_read, spent.write("Orders"), spent.index_read("Indexed", "by-date")) == (2, 0.5, 0, 0)
    assert "index by-date of Indexed: 0 read, 1 write" in repr(spent)


def test_reset(twin: Twin) -> None:
    twin.faults.add("reset")
    twin.clock.advance(60)
    twin.reset()
    assert (twin.tables(), twin.faults.report(), twin.clock.now()) == ([], [], START + timedelta(minutes=1))
    twin.reset(all=True)
    assert twin.clock.now() == START


def test_exports_go_to_folders(tmp_path: Any) -> None:
    (tmp_path / "shelf").mkdir()
    twin = Twin(seed=7, buckets=tmp_path)
    arn = twin.create_table("Orders", "id")["TableArn"]
    client = twin.client()
    recovery = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="Orders", PointInTimeRecoverySpecification=recovery)
    client.put_item(TableName="Orders", Item=A)
    twin.clock.advance(3600)
    client.export_table_to_point_in_time(TableArn=arn, S3Bucket="shelf")
    twin.clock.advance(24 * 3600)
    assert client.list_exports()["ExportSummaries"][0]["ExportStatus"] == "COMPLETED"
    assert list((tmp_path / "shelf").rglob("*.gz"))


def test_attached_sessions_and_clients_are_answered_until_detached(twin: Twin) -> None:
    for session in (boto3.Session(), botocore.session.Session()):
        with Twin(seed=7) as other:
            other.create_table("Orders", "id")
            attached: Any = other.attach(session)
            make = attached.client if hasattr(attached, "client") else attached.create_client
            client = make("dynamodb")
            assert client.list_tables()["TableNames"] == ["Orders"]
            assert make("dynamodbstreams").list_streams()["Streams"] == []
    offline: Any = Config(retries={"total_max_attempts": 1}, connect_timeout=1)
    keys = {"region_name": "us-east-1", "aws_access_key_id": "dynatwin", "aws_secret_access_key": "x", "config": offline}
    endpoint = "http://127.0.0.1:9"
    client = boto3.client("dynamodb", endpoint_url=endpoint, **keys)
    table = boto3.resource("dynamodb", endpoint_url=endpoint, **keys).Table("Orders")
    twin.attach(client)
    twin.attach(table)
    assert client.list_tables()["TableNames"] == ["Orders"] and table.item_count == 0
    twin.detach()
    for request in (client.list_tables, table.load):
        with pytest.raises(botocore.exceptions.EndpointConnectionError):
            request()
    twin.attach(client)
    assert client.list_tables()["TableNames"] == ["Orders"]
    for wrong in (boto3.client("s3", **keys), object()):
        with pytest.raises(TypeError):
            twin.attach(wrong)


def test_an_application_session(twin: Twin) -> None:
    session = twin.session(region="us-east-1")
    assert session.client("dynamodb").list_tables()["TableNames"] == ["Orders"]
    assert [table.name for table in session.resource("dynamodb").tables.all()] == ["Orders"]


def test_raw_requests(twin: Twin) -> None:
    answer = twin.dispatch("ListTables", "{}")
    assert (answer.status, answer.body, answer.delivery, answer.at) == (200, b'{"TableNames":["Orders"]}', "whole", START)
    assert twin.handle("GET", "/").status == 200
    refused = twin.handle("POST", "/", {**JSON, "x-amz-target": "DynamoDB_20120810.ListTables"}, "{}")
    assert refused.status == 400 and b"MissingAuthenticationToken" in refused.body


def test_an_exception_notes_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError) as failed, Twin(seed=12):
        raise ZeroDivisionError
    notes = getattr(failed.value, "__notes__", []) + [capsys.readouterr().err]
    assert any("seed was 12" in note for note in notes)


def test_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNATWIN_SEED", " 9\n")
    assert Twin().seed == 9 and Twin(seed=2**64 - 1).seed == 2**64 - 1
    monkeypatch.setenv("DYNATWIN_SEED", "0x7")
    with pytest.raises(ValueError, match="'0x7'"):
        Twin()
    wrong: Any
    for wrong in [-1, 2**64, "7", 1.5]:
        with pytest.raises(ValueError, match="A seed must be a whole number from 0 to"):
            Twin(seed=wrong)
    with pytest.raises(ValueError, match="s3"):
        wrong = "s3"
        Twin(seed=1).client(wrong)


def test_what_is_exported() -> None:
    assert all(hasattr(dynatwin, name) for name in dynatwin.__all__)
    assert dynatwin.__version__
    assert repr(Twin(seed=7)) == "<dynatwin.Twin seed=7 clock=2026-01-01T00:00:00+00:00>"


def test_clients_of_a_twin_sign_only_if_they_are_given_a_secret(twin: Twin) -> None:
    signed: list[bool] = []
    for options in ({}, {"aws_secret_access_key": "x"}, {"config": Config(signature_version="v4")}):
        client: Any = twin.client("dynamodb", **options)
        client.meta.events.register("before-send", lambda request, **_: signed.append("Authorization" in request.headers))
        assert client.list_tables()["TableNames"] == ["Orders"]
    assert signed == [False, True, True]


def count(twin: Twin) -> int:
    return len(twin.items("Orders"))


def test_a_twin_returns_to_a_snapshot() -> None:
    twin = Twin(seed=7)
    twin.create_table("Orders", "id", global_indexes={"by-date": "date"}, stream="NEW_IMAGE", ttl="expiresAt")
    client = twin.client()
    client.put_item(TableName="Orders", Item={**A, "date": {"S": "1"}, "expiresAt": {"N": str(int(START.timestamp()) + 600)}})
    twin.clock.advance(60)
    twin.conditions = {"throttles": 0.5}
    before, description = twin.snapshot(), client.describe_table(TableName="Orders")["Table"]
    for _ in range(2):
        twin.conditions = "calm"
        client.delete_table(TableName="Orders")
        twin.clock.advance(3600)
        twin.faults.add("throttle")
        twin.restore(before)
        assert (count(twin), twin.clock.now(), twin.faults.report()) == (1, START + timedelta(minutes=1), [])
        assert twin.conditions["throttles"] == 0.5
        twin.conditions = "calm"
        assert client.describe_table(TableName="Orders")["Table"] == description
    assert client.scan(TableName="Orders", IndexName="by-date")["Count"] == 1
    twin.clock.advance(600)
    assert count(twin) == 0


def test_a_snapshot_is_bytes_that_another_twin_restores(twin: Twin) -> None:
    twin.client().put_item(TableName="Orders", Item=A)
    saved = bytes(twin.snapshot())
    other = Twin(seed=1)
    other.restore(saved)
    assert (count(other), bytes(other.snapshot())) == (1, saved)
    for damaged in (saved[:-1], saved + b"x", b"", bytes([saved[0] ^ 1]) + saved[1:]):
        with pytest.raises(ValueError, match="not a snapshot"):
            other.restore(damaged)
    assert count(other) == 1


def test_forks_share_nothing(twin: Twin) -> None:
    one, other = twin.fork(), twin.fork()
    one.client().put_item(TableName="Orders", Item=A)
    one.clock.advance(60)
    assert (count(one), count(other), count(twin), twin.clock.now()) == (1, 0, 0, START)
    assert (one.seed, one.watched) == (7, False)
    settings: Any = {"clock": "now", "shared_tables": True, "watch": True, "conditions": {"table_status": 1}}
    origin = Twin(**settings)
    origin.create_table("Orders", "id")
    fork = origin.snapshot().fork()
    assert (fork.clock.now(), fork.watched, fork.requests()) == (origin.clock.now(), True, [])
    assert fork.tables(access_key="another") == ["Orders"] and fork.conditions == origin.conditions


def test_the_same_seed_decides_the_same_in_each_fork(twin: Twin) -> None:
    twin.conditions = {"throttles": 0.5}

    def statuses(twin: Twin) -> list[int]:
        get = '{"TableName": "Orders", "Key": {"id": {"S": "a"}}}'
        return [twin.dispatch("GetItem", get).status for _ in range(20)]

    snapshot = twin.snapshot()
    first = statuses(snapshot.fork())
    assert statuses(snapshot.fork()) == first and set(first) == {200, 400}


def test_a_declared_control_needs_no_method(twin: Twin) -> None:
    assert twin.control(controls.list_items("Orders", limit=1)) == {"items": [], "skipped": 0}
    with pytest.raises(ValueError, match="limit must be from 1 to 1000"):
        twin.control(controls.list_items("Orders", limit=0))
    with pytest.raises(KeyError, match="There is no table a/b"):
        twin.control(controls.get_pending("a/b"))
    state = twin.control(controls.get_snapshot())
    twin.control(controls.advance_clock({"seconds": 60}))
    assert twin.control(controls.restore_snapshot(state))["clock"]["now"] == "2026-01-01T00:00:00.000Z"
