"""The twin: an in-process DynamoDB emulator."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from dynatwin import _access, _binding, _boto, _definition, _log, _values, _words, controls
from dynatwin._access import AccessConfiguration, Credentials, PolicyWarning, Principal, UsedPermissions
from dynatwin._clock import Clock
from dynatwin._conditions import Conditions, Lag, Name
from dynatwin._definition import KeyAttribute
from dynatwin._dynatwin import Engine
from dynatwin._dynatwin import Snapshot as NativeSnapshot
from dynatwin._faults import Faults
from dynatwin._values import AttributeValue, Key
from dynatwin.controls import Call

if TYPE_CHECKING:
    # Where mypy-boto3-dynamodb or boto3-stubs is not installed, these are Any.
    from mypy_boto3_dynamodb import DynamoDBClient, DynamoDBServiceResource
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

_ACCESS_KEY = _binding.ACCESS_KEY
_REGION = _binding.REGION

# How long a table that is CREATING is left alone before it is described again, in seconds of the twin's clock.
_POLL = 1.0

ClockOption = Literal["settable", "now", "system"] | str | datetime | Mapping[str, Any]
ConditionsOption = Name | Conditions

# What an engine is made with.
_Settings = tuple[int, bytes, bool, str | None, float | None, bool, "str | os.PathLike[str] | None"]

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """An answer, and how it is to be delivered."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    at: datetime
    """The moment of delivery, by the twin's clock."""
    delivery: str
    """``whole``, ``truncated``, ``reset`` or ``lost``."""
    length: int
    """How many bytes of the body are delivered."""


class Twin:
    """An in-process DynamoDB emulator.

    The default `seed` is that of the environment's ``DYNATWIN_SEED``, or a random one; the same seed and the same requests give
    the same answers.

    `conditions` is a name, or members that replace those of ``calm``, the default.

    `clock` is

    - ``"settable"``: stands still at 2026-01-01T00:00:00Z until a test advances it or a client sleeps on it; the default with a
      `seed`;
    - ``"now"``: a settable clock that starts at the time that ``time.time()`` returns; the default without a `seed`;
    - a moment: a settable clock that starts there;
    - ``"system"``: the machine's time; :meth:`Clock.advance` adds to it;
    - ``{"start": moment, "speed": 3600}``: runs from `start` (now), `speed` times as fast as the machine's (1).

    `iam` is the configuration of access control, as :meth:`set_access` takes it.

    With `shared_tables` all access keys and regions share one set of tables. `buckets` is a folder that contains a folder for each S3
    bucket, for exports and imports. With `watch` the twin is watched from the start.

    As a context manager it detaches the attached clients at the end of the block, and adds a note with the seed to an exception that
    leaves the block.
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        conditions: ConditionsOption = "calm",
        clock: ClockOption | None = None,
        shared_tables: bool = False,
        buckets: str | os.PathLike[str] | None = None,
        watch: bool = False,
        iam: AccessConfiguration | None = None,
    ) -> None:
        if clock is None:
            clock = "now" if seed is None else "settable"
        settable, start, speed = _clock_of(clock)
        seed = _seed() if seed is None else seed
        if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise ValueError(f"A seed must be a whole number from 0 to 2^64 - 1, not {seed!r}.")
        text = json.dumps(_words.camel_cased(conditions)).encode()
        configuration = None if iam is None else _access.text_of(iam)
        self._begin((seed, text, settable, start, speed, shared_tables, buckets), watch, configuration)

    def _begin(self, settings: _Settings, watch: bool, iam: str | None) -> None:
        self._settings = settings
        self._iam = iam
        self._sessions = itertools.count(1)
        try:
            self.engine = Engine(*settings)
        except ValueError as error:
            raise ValueError(_words.sentence(str(error))) from None
        self.clock = Clock(self.engine)
        self.faults = Faults(self.control)
        self._attached: list[_binding.SessionBinding] = []
        self._bound: list[weakref.ref[_binding.Binding]] = []
        if watch:
            self.watch()
        self._restore_access()

    @property
    def seed(self) -> int:
        """The seed of the twin's random decisions."""
        return self.engine.seed

    # Clients

    def session(self, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> Any:
        """Returns a ``boto3.Session`` whose DynamoDB clients and resources this twin answers."""
        session = _boto.new_session(region, access_key)
        _binding.SessionBinding(session, lambda: self, lambda _: None)
        return session

    @overload
    def client(self, service: Literal["dynamodb"] = "dynamodb", **options: Any) -> DynamoDBClient: ...
    @overload
    def client(self, service: Literal["dynamodbstreams"], **options: Any) -> DynamoDBStreamsClient: ...
    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """Returns a boto3 client, for ``dynamodb`` or ``dynamodbstreams``. `options` are those of
        ``boto3.Session.client``.

        ``region_name`` and ``aws_access_key_id`` select its tables.
        """
        return _boto.make("client", _boto.checked_service(service), lambda: self, options)

    def resource(self, service: Literal["dynamodb"] = "dynamodb", **options: Any) -> DynamoDBServiceResource:
        """Returns a boto3 resource. `options` are those of ``boto3.Session.resource``."""
        resource: DynamoDBServiceResource = _boto.make("resource", _boto.checked_service(service), lambda: self, options)
        return resource

    def async_client(self, service: str = "dynamodb", **options: Any) -> Any:
        """Returns an aiobotocore client, for ``async with``. `options` are those of ``AioSession.create_client``."""
        from aiobotocore.session import AioSession

        session = AioSession()
        session.register_component("data_loader", _boto.loader())
        session.set_credentials(_ACCESS_KEY, _binding.SECRET_KEY)
        session.set_config_variable("region", _REGION)
        options, access_key = _boto.unsigned(options)
        _binding.SessionBinding(session, lambda: self, lambda _: None, access_key)
        return session.create_client(_boto.checked_service(service), **options)

    def attach(self, target: T) -> T:
        """Answers a client, a resource, or every DynamoDB client that a session creates from now on.

        Sessions and clients are those of botocore, boto3, aiobotocore and aioboto3. Credentials and region select the
        tables; a session without them gets the default ones. Returns the target.
        """
        target_of: Any = target
        client = getattr(getattr(target_of, "meta", None), "client", target_of)
        if hasattr(client, "_endpoint"):
            self._remember(_binding.bind_client(client, lambda: self))
        else:
            self._attached.append(_binding.SessionBinding(target_of, lambda: self, self._remember))
        return target

    def detach(self) -> None:
        """Detaches all attached clients and sessions: their requests go to the network again."""
        for session in self._attached:
            session.remove()
        self._attached.clear()
        for reference in self._bound:
            if (binding := reference()) is not None:
                binding.find = lambda: None
        self._bound.clear()

    def _remember(self, binding: _binding.Binding) -> None:
        self._bound.append(weakref.ref(binding))

    def __enter__(self) -> Twin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()
        if error is not None:
            announce(self, error)

    # Tables

    def create_table(
        self,
        name: str,
        hash: KeyAttribute,
        range: KeyAttribute | None = None,
        *,
        global_indexes: Mapping[str, KeyAttribute | Sequence[KeyAttribute]] | None = None,
        local_indexes: Mapping[str, KeyAttribute] | None = None,
        ttl: str | None = None,
        stream: Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] | None = None,
        throughput: tuple[int, int] | None = None,
        region: str = _REGION,
        access_key: str = _ACCESS_KEY,
        as_principal: Principal | None = None,
    ) -> dict[str, Any]:
        """Creates a table, waits until it is ``ACTIVE``, and sets its time-to-live attribute; returns its description.

        A key attribute is a string, or ``("placedAt", "N")``. A global index has a partition key, or a list of a partition
        key and a sort key, and projects all attributes. The billing mode is on-demand unless `throughput` sets read and
        write units. The table is that of `region` and `access_key`, or of a principal of access control.

        >>> from dynatwin import Twin
        >>> table = Twin(seed=7).create_table("Orders", "customer", ("placedAt", "N"), global_indexes={"by-status": "status"})
        >>> table["TableStatus"]
        'ACTIVE'
        """

        def call(operation: str, request: dict[str, Any]) -> Any:
            if as_principal is None:
                return self._call(operation, request, region=region, access_key=access_key)
            return client._make_api_call(operation, request)

        client: Any = None if as_principal is None else as_principal.client()
        request = _definition.create_table_request(name, hash, range, global_indexes or {}, local_indexes or {}, stream, throughput)
        table: dict[str, Any] = call("CreateTable", request)["TableDescription"]
        while table["TableStatus"] == "CREATING":
            table = call("DescribeTable", {"TableName": name})["Table"]
            if table["TableStatus"] == "CREATING":
                self.clock.sleep(_POLL)
        if ttl is not None:
            specification = {"Enabled": True, "AttributeName": ttl}
            request = {"TableName": name, "TimeToLiveSpecification": specification}
            call("UpdateTimeToLive", request)
        return table

    def tables(self, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> list[str]:
        """Returns the names of the tables."""
        return self.engine.tables(access_key, region)

    def items(
        self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> list[dict[str, AttributeValue]]:
        """Returns all current items of a table, in Scan order.

        It consumes no capacity, matches no fault rule, and is never stale. Raises KeyError if the table does not exist.
        """
        found = self.engine.items(access_key, region, table)
        if found is None:
            raise KeyError(f"access key {access_key!r} has no table {table!r} in {region}")
        return [_values.item(each) for each in json.loads(found)]

    def item(
        self, table: str, key: Key, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> dict[str, AttributeValue] | None:
        """Returns the current item with this key, such as ``{"id": {"S": "a"}}``, or None."""
        for name, value in key.items():
            if not isinstance(value, Mapping):
                raise TypeError(f"A key has the format of boto3's client, such as {{{name!r}: {{'S': 'a'}}}}, not {value!r}.")

        def matches(item: Mapping[str, AttributeValue]) -> bool:
            return all(name in item and _values.same(item[name], value) for name, value in key.items())

        items = self.items(table, region=region, access_key=access_key)
        return next((item for item in items if matches(item)), None)

    def expire_now(self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> int:
        """Deletes all expired items now instead of after the TTL delay; returns their number."""
        deleted: int = self.control(controls.expire_now(table), region=region, access_key=access_key)["deleted"]
        return deleted

    def split_shards(self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> bool:
        """Splits each open shard of a table's stream in two; returns whether the table has a stream."""
        split: bool = self.control(controls.split_shards(table), region=region, access_key=access_key)["split"]
        return split

    # Conditions and indexes

    @property
    def conditions(self) -> Conditions:
        """The conditions of all tables without their own. Assign a name, or members to replace."""
        shown: Conditions = _words.shown(self.control(controls.get_conditions()))
        return shown

    @conditions.setter
    def conditions(self, conditions: ConditionsOption) -> None:
        self.set_conditions(conditions)

    def set_conditions(self, conditions: ConditionsOption) -> None:
        """Sets the conditions of all tables without their own: a name, or members that replace those of `base`, or the
        current ones."""
        self.control(controls.set_conditions(_words.camel_cased(conditions)))

    def set_table_conditions(
        self,
        table: str,
        conditions: ConditionsOption | None,
        *,
        region: str = _REGION,
        access_key: str = _ACCESS_KEY,
    ) -> None:
        """Sets the conditions of one table, which need not exist yet; with None the twin's conditions apply again."""
        if conditions is None:
            call = controls.clear_table_conditions(table)
        else:
            call = controls.set_table_conditions(table, _words.camel_cased(conditions))
        self.control(call, region=region, access_key=access_key)

    def indexes(self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> list[_log.IndexState]:
        """Returns the states of a table's global indexes."""
        indexes = self.control(controls.list_indexes(table), region=region, access_key=access_key)
        return [_log.index_state(each) for each in indexes]

    def pause_index(self, table: str, index: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> None:
        """Pauses a global index: no write reaches it until :meth:`resume_index`."""
        self.control(controls.pause_index(table, index), region=region, access_key=access_key)

    def resume_index(self, table: str, index: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> None:
        """Resumes a paused index, and applies the writes that are due."""
        self.control(controls.resume_index(table, index), region=region, access_key=access_key)

    def set_index_lag(
        self, table: str, index: str, lag: Lag | None, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> None:
        """Sets the time until later writes reach one global index; with None the conditions apply again."""
        if lag is None:
            call = controls.clear_index_lag(table, index)
        else:
            call = controls.set_index_lag(table, index, _words.camel_cased(lag))
        self.control(call, region=region, access_key=access_key)

    def replication(
        self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> list[_log.ReplicationState]:
        """Replication between the table in `region` and each of its replicas."""
        states = self.control(controls.list_replication(table), region=region, access_key=access_key)
        return [_log.replication_state(each) for each in states]

    def pause_replication(
        self, table: str, other: str | None = None, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> None:
        """Pauses replication between the table in `region` and its replica in `other`, or all of its replicas."""
        if other is None:
            call = controls.pause_all_replication(table)
        else:
            call = controls.pause_replication(table, other)
        self.control(call, region=region, access_key=access_key)

    def resume_replication(
        self, table: str, other: str | None = None, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> None:
        """Lets the table in `region` and its replica in `other`, or all of its replicas, exchange what they have missed."""
        if other is None:
            call = controls.resume_all_replication(table)
        else:
            call = controls.resume_replication(table, other)
        self.control(call, region=region, access_key=access_key)

    def set_replication_lag(
        self, table: str, other: str, lag: Lag | None, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> None:
        """Sets how long writes take from `region` to the replica in `other`; None lets them follow the conditions again."""
        if lag is None:
            call = controls.clear_replication_lag(table, other)
        else:
            call = controls.set_replication_lag(table, other, _words.camel_cased(lag))
        self.control(call, region=region, access_key=access_key)

    # Recorded requests

    def watch(self, watches: bool = True) -> None:
        """Starts or stops recording :meth:`requests`, :meth:`scans`, :meth:`metrics` and :meth:`hottest_keys`.

        The records are kept until :meth:`reset` or :meth:`forget_requests`.
        """
        self.control(controls.watch() if watches else controls.unwatch())

    @property
    def watched(self) -> bool:
        """Whether requests are recorded."""
        watched: bool = self.control(controls.get_overview())["watched"]
        return watched

    def requests(self) -> list[_log.Request]:
        """Returns the latest requests of all access keys and regions, oldest first. Each attempt of a client is a
        request."""
        return [_log.request(each) for each in self.control(controls.list_requests())["requests"]]

    def forget_requests(self) -> None:
        """Removes all recorded requests, scans and counters."""
        self.control(controls.forget_requests())

    def scans(self) -> list[_log.Scan]:
        """Returns which operations read a whole table or index: each operation, table, index and caller once.

        A SELECT that does not fix the partition key is also a scan.
        """
        return [_log.scan(each) for each in self.control(controls.list_scans())]

    def assert_no_scans(self) -> None:
        """Asserts that no table or index was scanned; the message suggests a query."""
        _log.assert_no_scans(self.watched, self.scans())

    def assert_faults_fired(self) -> None:
        """Asserts that every fault rule acted, including those that were removed."""
        _log.assert_faults_fired(self.faults.never_fired())

    def metrics(self, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> list[_log.Metric]:
        """Returns the counters and gauges of an account in its region, with CloudWatch's names, since the twin is
        watched."""
        listed = self._of_account(controls.get_metrics(), "metrics", region, access_key)
        return [_log.Metric(each["name"], each["dimensions"], each["value"]) for each in listed]

    def metric(
        self, name: str, /, *, region: str = _REGION, access_key: str = _ACCESS_KEY, **dimensions: str
    ) -> float:
        """Returns the value of the metric with exactly these dimensions, such as ``TableName="Orders"``; 0 if there is
        none."""
        metrics = self.metrics(region=region, access_key=access_key)
        values = (each.value for each in metrics if each.name == name and dict(each.dimensions) == dimensions)
        return next(values, 0.0)

    def metrics_by_minute(self, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> list[_log.Datapoint]:
        """Returns the counters by the minute of the twin's clock, oldest first, as an alarm's condition evaluates
        them."""
        listed = self._of_account(controls.get_metrics_by_minute(), "datapoints", region, access_key)
        return [_log.datapoint(each) for each in listed]

    def hottest_keys(
        self, table: str, most: int = 10, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> list[_log.HotKey]:
        """Returns the partition keys of a watched table with the highest cost, in descending order."""
        return list(self.heat(table, region=region, access_key=access_key).keys[:most])

    def heat(self, table: str, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> _log.Heat:
        """Returns the units consumed and throttled in a table, recorded while capacity is enforced or the twin is
        watched."""
        return _log.heat(self.control(controls.get_heat(table), region=region, access_key=access_key))

    def watch_heat(
        self, table: str, watches: bool = True, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> None:
        """Starts or stops recording the heat of a table, including keys."""
        call = controls.watch_heat(table) if watches else controls.unwatch_heat(table)
        self.control(call, region=region, access_key=access_key)

    def capacity_spent(self, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> _log.CapacitySpent:
        """Records the capacity that the tables consume in a ``with`` block. The twin need not be watched.

        >>> from dynatwin import Twin
        >>> twin = Twin(seed=7)
        >>> _ = twin.create_table("Orders", "id")
        >>> with twin.capacity_spent() as spent:
        ...     _ = twin.client().put_item(TableName="Orders", Item={"id": {"S": "a"}})
        >>> spent.write("Orders")
        1.0
        """
        return _log.CapacitySpent.of(self.engine, access_key, region)

    # Access control

    def set_access(self, iam: AccessConfiguration) -> list[PolicyWarning]:
        """Replaces the accounts, principals and policies of access control: a mapping, JSON text, or the path of a JSON file.

        From then on every request needs credentials of a configured principal, such as those of :meth:`as_role`. Returns warnings
        about policies that do not mean what they seem to.
        """
        answer = self.control(controls.set_access(json.loads(_access.text_of(iam))))
        return [PolicyWarning(**warning) for warning in answer["warnings"]]

    def remove_access(self) -> None:
        """Removes the configuration of access control: everything is allowed."""
        self.control(controls.remove_access())

    def _restore_access(self) -> None:
        if self._iam is not None:
            self.set_access(self._iam)

    def explain_access(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the decision on a request, the deciding statement and the values of the condition keys. The request is
        not executed.

        Question and answer are those of ``POST /_dynatwin/access/explain``.
        """
        explained: dict[str, Any] = self.control(controls.explain_access(question))
        return explained

    def access_report(self, *, leading_keys: bool = False, attributes: bool = False) -> list[UsedPermissions]:
        """For each principal of the recorded requests the policy that allows them and nothing else.

        With `leading_keys` the policies are restricted to the partition key values of the requests, with `attributes` to the
        attributes that they name and what they return.
        """
        report = controls.report_access(leading_keys=leading_keys, attributes=attributes)
        principals = self.control(report)["principals"]
        return [UsedPermissions(each["principal"], each["policy"]) for each in principals]

    def as_role(
        self,
        arn: str,
        *,
        tags: Mapping[str, str] | None = None,
        session_name: str = "session",
        federated: bool = False,
        keys: Mapping[str, str | Sequence[str]] | None = None,
        session_policies: Sequence[Mapping[str, Any] | str] = (),
        duration: float = 3600,
        region: str = _REGION,
        source_ip: str | None = None,
        vpc_endpoint: str | None = None,
        secure_transport: bool | None = None,
    ) -> Principal:
        """A session of a configured role, which expires after `duration` seconds of the twin's clock.

        `keys` are condition keys of its requests, such as ``www.amazon.com:user_id``. With `federated` the session is that of a
        federated user called `session_name`, which a user requests (GetFederationToken).

        >>> from dynatwin import Twin
        >>> own = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/tenant}"}}
        >>> statement = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*", "Condition": own}
        >>> roles = {"Tenant": {"policies": [{"Version": "2012-10-17", "Statement": statement}]}}
        >>> twin = Twin(seed=7, iam={"accounts": {"123456789012": {"roles": roles}}})
        >>> _ = twin.create_table("Items", "id", as_principal=twin.as_root("123456789012"))
        >>> blue = twin.as_role("arn:aws:iam::123456789012:role/Tenant", tags={"tenant": "blue"}).client()
        >>> _ = blue.put_item(TableName="Items", Item={"id": {"S": "blue"}})
        >>> blue.put_item(TableName="Items", Item={"id": {"S": "red"}})
        Traceback (most recent call last):
        ...
        botocore.exceptions.ClientError: An error occurred (AccessDeniedException) when calling the PutItem operation: ...
        """
        access_key = f"ASIADYNATWIN{next(self._sessions):08}"
        credentials = Credentials(access_key, f"secret of {access_key}", f"token of {access_key}")
        session: dict[str, Any] = {
            "role": arn,
            "name": session_name,
            "accessKeyId": credentials.access_key,
            "secretAccessKey": credentials.secret_key,
            "sessionToken": credentials.session_token,
            "federated": federated,
            "tags": dict(tags or {}),
            "keys": dict(keys or {}),
            "durationSeconds": duration,
        }
        if session_policies:
            session["policies"] = list(session_policies)
        self.control(controls.add_session(session))
        secure = None if secure_transport is None else str(secure_transport).lower()
        named = {"source-ip": source_ip, "vpc-endpoint": vpc_endpoint, "secure-transport": secure}
        origin = {f"x-dynatwin-{name}": value for name, value in named.items() if value is not None}
        return Principal(self, arn, credentials, region, origin)

    def as_user(self, arn: str, **options: Any) -> Principal:
        """A configured user, such as ``arn:aws:iam::123456789012:user/ann``. `options` are those of :meth:`as_role`."""
        return self.as_role(arn, **options)

    def as_root(self, account: str, **options: Any) -> Principal:
        """The root user of an account, who may do everything there. `options` are those of :meth:`as_role`."""
        return self.as_role(f"arn:aws:iam::{account}:root", **options)

    # State

    def reset(self, all: bool = False) -> None:
        """Removes all tables, fault rules and recorded requests.

        With `all`, also restores the initial clock and conditions. Time goes back then, so no request should
        run meanwhile.
        """
        self.control(controls.reset({"all": all}))
        if all:
            self._restore_access()

    def snapshot(self) -> Snapshot:
        """Returns the tables with all their settings and data, the conditions and the clock's moment, for
        :meth:`restore` and forks.

        Fault rules and recorded requests are not part of it.
        """
        return Snapshot(self.engine.snapshot(), self._settings, self.watched, self._iam)

    def restore(self, snapshot: Snapshot | bytes) -> None:
        """Resets the twin to a snapshot of it or of another one, or to the bytes of one.

        Bytes that are damaged or of another version raise a `ValueError` and change nothing. Fault rules and recorded requests are
        removed, and random decisions start anew, so the same seed makes the same decisions. Time may go back, so no request should
        run meanwhile.
        """
        state = snapshot._state if isinstance(snapshot, Snapshot) else NativeSnapshot.from_bytes(snapshot)
        self.engine.restore(state)
        self._restore_access()

    def fork(self) -> Twin:
        """Another twin with the same settings and the same state, as :meth:`snapshot` has it. Neither sees the other's changes.

        >>> from dynatwin import Twin
        >>> template = Twin(seed=7)
        >>> _ = template.create_table("Orders", "id")
        >>> fork = template.fork()
        >>> _ = fork.client().put_item(TableName="Orders", Item={"id": {"S": "a"}})
        >>> len(fork.items("Orders")), len(template.items("Orders"))
        (1, 0)
        """
        return self.snapshot().fork()

    def next_due(self) -> datetime | None:
        """Returns the moment of the next due work."""
        due = self.engine.next_due()
        return None if due is None else _words.at(due)

    def run_due(self) -> None:
        """Applies due work."""
        self.engine.run_due()

    def handle(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | str = b""
    ) -> Answer:
        """Handles an HTTP request and returns the answer, without delivering it."""
        raw = body.encode() if isinstance(body, str) else body
        return _answer(self.engine.handle(method, path, list((headers or {}).items()), raw))

    def dispatch(
        self, target: str, body: bytes | str, *, region: str = _REGION, access_key: str = _ACCESS_KEY
    ) -> Answer:
        """Handles a request without the HTTP envelope: ``dispatch("GetItem", '{"TableName": …}')``."""
        raw = body.encode() if isinstance(body, str) else body
        return _answer(self.engine.dispatch(access_key, region, target, raw))

    def _call(self, operation: str, request: object, *, region: str, access_key: str) -> Any:
        status, _, body, *_ = self.engine.dispatch(access_key, region, operation, json.dumps(request).encode())
        answer = json.loads(body)
        if status != 200:
            kind = answer.get("__type", "").rpartition("#")[2]
            raise ValueError(f"{operation}: {kind}: {answer.get('message') or answer.get('Message')}")
        return answer

    def control(self, call: Call, *, region: str = _REGION, access_key: str = _ACCESS_KEY) -> Any:
        """Calls a control and returns its answer, as JSON or bytes. :mod:`dynatwin.controls` has all of them.

        >>> from dynatwin import Twin, controls
        >>> twin = Twin(seed=7)
        >>> _ = twin.create_table("Orders", "id")
        >>> twin.control(controls.get_pending("Orders"))["timeToLive"]
        {'count': 0, 'first': []}
        """
        method, path, body = call
        credential = f"Credential={access_key}/20260101/{region}/dynamodb/aws4_request"
        headers = [("authorization", f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0")]
        sent = b""
        if isinstance(body, bytes):
            headers.append(("content-type", "application/octet-stream"))
            sent = body
        elif body is not None:
            headers.append(("content-type", "application/json"))
            sent = json.dumps(body).encode()
        status, kinds, answered, *_ = self.engine.handle(method, f"/_dynatwin{path}", headers, sent)
        if dict(kinds).get("content-type") == "application/octet-stream":
            return answered
        answer = json.loads(answered)
        if status != 200:
            kind = KeyError if status == 404 else ValueError
            raise kind(_words.sentence(answer["error"]))
        return answer

    def _of_account(self, call: Call, member: str, region: str, access_key: str) -> list[dict[str, Any]]:
        # With shared tables there is one account, without a name.
        for account in self.control(call):
            if account.get("accessKey", access_key) == access_key and account.get("region", region) == region:
                listed: list[dict[str, Any]] = account[member]
                return listed
        return []

    def __repr__(self) -> str:
        return f"<dynatwin.Twin seed={self.seed} clock={self.clock.now().isoformat()}>"


class Snapshot:
    """The state of a twin at one moment. It shares its items with its twin and its forks, so it takes little memory.

    `bytes(snapshot)` is the snapshot for another process, which restores it in Python, JavaScript, Rust or over HTTP.

    >>> from dynatwin import Twin
    >>> twin = Twin(seed=7)
    >>> _ = twin.create_table("Orders", "id")
    >>> saved = bytes(twin.snapshot())
    >>> other = Twin()
    >>> other.restore(saved)
    >>> other.tables()
    ['Orders']
    """

    def __init__(self, state: NativeSnapshot, settings: _Settings, watched: bool, iam: str | None) -> None:
        self._state = state
        self._settings = settings
        self._watched = watched
        self._iam = iam

    def __bytes__(self) -> bytes:
        return bytes(self._state)

    def fork(self) -> Twin:
        """Returns a new twin in this state, with the settings of the snapshot's twin."""
        twin = Twin.__new__(Twin)
        twin._begin(self._settings, False, self._iam)
        twin.restore(self)
        if self._watched:
            twin.watch()
        return twin


def announce(twin: Twin, error: BaseException) -> None:
    """Adds a twin's seed to an exception as a note; before Python 3.11, prints it to standard error."""
    note = f"dynatwin: this twin's seed was {twin.seed}; DYNATWIN_SEED={twin.seed} makes the same decisions"
    if sys.version_info >= (3, 11):
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    else:
        print(note, file=sys.stderr)


def _seed() -> int:
    text = os.environ.get("DYNATWIN_SEED", "").strip()
    if not text:
        return secrets.randbits(32)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"DYNATWIN_SEED is {text!r}, but a seed must be a whole number.") from None


def _clock_of(clock: ClockOption) -> tuple[bool, str | None, float | None]:
    """Returns whether the clock is settable, its start, and its speed."""
    if clock == "settable":
        return True, None, None
    if clock == "now":
        return True, _words.iso(datetime.fromtimestamp(time.time(), timezone.utc)), None
    if clock == "system":
        return False, None, None
    if isinstance(clock, (str, datetime)):
        return True, _words.iso(clock), None
    others = set(clock) - {"start", "speed"}
    if others:
        raise ValueError(f"A clock has no {others.pop()!r}, only start and speed.")
    start, speed = clock.get("start"), clock.get("speed")
    if speed is not None and not 0.001 <= speed <= 1e9:
        raise ValueError("A clock's speed must be a number from 0.001 to 1000000000.")
    # Without either it is the machine's clock, and with one of them a clock that runs from its start.
    return False, None if start is None else _words.iso(start), 1.0 if speed is None else speed


def _answer(reply: Any) -> Answer:
    status, headers, body, at, delivery, length = reply
    return Answer(status, dict(headers), body, _words.at(at), delivery, length)
