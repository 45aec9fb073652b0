"""Recorded requests, scans, metrics and capacity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any

from dynatwin import _values, _words
from dynatwin._conditions import Lag
from dynatwin._dynatwin import Engine, Meter
from dynatwin._faults import FaultReport


@dataclass(frozen=True)
class RecordedAccess:
    """An item or key range that a request accessed."""

    act: str
    """``Get``, ``Put``, ``Update``, ``Delete``, ``ConditionCheck``, ``Query``, ``Scan``, ``SearchVectors`` or ``GetRecords``."""
    table: str
    index: str | None
    key: Mapping[str, _values.AttributeValue]
    """The item's key; the partition key of a Query; empty for a Scan."""
    read_units: float
    write_units: float
    error: str | None


@dataclass(frozen=True)
class Request:
    """A request that was answered while the twin was watched. Each attempt of a client is a request."""

    number: int
    """The request's number, counted from 1."""
    at: datetime
    access_key: str
    region: str
    operation: str
    """The operation's name in the API, such as ``PutItem``."""
    tables: tuple[str, ...]
    """The tables in the request, each once."""
    accesses: tuple[RecordedAccess, ...]
    """The first hundred items or key ranges that it accessed."""
    status: int
    error: str | None
    """The name of the exception in the answer."""
    delivery: str
    """``whole``, ``truncated``, ``reset`` or ``lost``."""
    read_units: float
    write_units: float
    scanned: int
    """The number of items read before filtering."""
    returned: int
    """The number of items returned."""

    @property
    def table(self) -> str | None:
        """The first table in the request."""
        return self.tables[0] if self.tables else None

    @property
    def key(self) -> Mapping[str, _values.AttributeValue] | None:
        """The key of the first item or range that it accessed."""
        return self.accesses[0].key if self.accesses else None

    def __str__(self) -> str:
        parts = [f"#{self.number}", self.at.isoformat(), self.operation, ", ".join(self.tables)]
        if self.key:
            parts.append(json.dumps(_values.plain(self.key)))
        ending = str(self.status) if self.delivery == "whole" else f"{self.status}, {self.delivery}"
        parts += ["->", ending, self.error or ""]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Scan:
    """A kind of scan that was recorded."""

    operation: str
    table: str
    index: str | None
    access_key: str
    region: str
    first: datetime
    """When it was first recorded."""
    times: int
    """The number of pages requested."""
    scanned: int
    """The number of items read before filtering."""
    partition_keys: tuple[tuple[str | None, str], ...]
    """Alternatives to query: the table (None) and its indexes, each with its partition key."""


@dataclass(frozen=True)
class Metric:
    """A counter or gauge with CloudWatch's name."""

    name: str
    dimensions: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Datapoint:
    """A metric in one minute of the twin's clock."""

    start: datetime
    name: str
    dimensions: Mapping[str, str]
    sum: float
    sample_count: int | None = None
    """This and the following are set for ``SuccessfulRequestLatency`` and ``IteratorAge``, in milliseconds."""
    average: float | None = None
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class HotKey:
    """A partition key, and the units consumed by its items."""

    key: _values.AttributeValue
    units: float


@dataclass(frozen=True)
class PartitionHeat:
    """The units consumed and throttled in a partition."""

    first: str
    """The first token of its range, as 16 hexadecimal digits."""
    last: str
    bytes: int
    read_units: float
    read_throttles: int
    write_units: float
    write_throttles: int


@dataclass(frozen=True)
class ResourceHeat:
    """The units consumed and throttled in a table or a global index."""

    index: str | None
    read_units: float
    read_left: float
    read_throttles: Mapping[str, int]
    """Throttled entries by reason."""
    write_units: float
    write_left: float
    write_throttles: Mapping[str, int]
    partitions: tuple[PartitionHeat, ...]


@dataclass(frozen=True)
class Heat:
    """The units consumed and throttled in a table, then in its global indexes."""

    resources: tuple[ResourceHeat, ...]
    keys: tuple[HotKey, ...]
    """The partition keys with the highest cost, in descending order, while the table is watched."""


@dataclass(frozen=True)
class IndexState:
    """The state of a global index."""

    index: str
    paused: bool
    waiting: int
    """The number of changes that have not reached it."""
    lag: Lag | None
    """The lag set for this index, if any."""


@dataclass(frozen=True)
class ReplicationState:
    """Replication between a table and its replica in another region."""

    region: str
    """The other region."""
    paused: bool
    arriving: int
    """Changes on their way from the other region."""
    leaving: int
    """Changes on their way to the other region."""
    lag: Lag | None
    """Its own lag, if it has one."""


@dataclass
class CapacitySpent:
    """The capacity that a block of code consumed, by table and global index; from
    :meth:`dynatwin.Twin.capacity_spent`."""

    _meter: Meter | None
    _spent: dict[tuple[str, str | None], tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine, access_key: str, region: str) -> CapacitySpent:
        return cls(engine.meter(access_key, region))

    def _now(self) -> dict[tuple[str, str | None], tuple[float, float]]:
        if self._meter is not None:
            spent = json.loads(self._meter.spent())
            self._spent = {(each["table"], each.get("index")): (each["read"], each["write"]) for each in spent}
        return self._spent

    def read(self, table: str) -> float:
        """Returns the read units of a table and its local indexes, without its global ones."""
        return self._now().get((table, None), (0.0, 0.0))[0]

    def write(self, table: str) -> float:
        """Returns the write units of a table and its local indexes, without its global ones."""
        return self._now().get((table, None), (0.0, 0.0))[1]

    def index_read(self, table: str, index: str) -> float:
        """Returns the read units of a global index."""
        return self._now().get((table, index), (0.0, 0.0))[0]

    def index_write(self, table: str, index: str) -> float:
        """Returns the write units of a global index."""
        return self._now().get((table, index), (0.0, 0.0))[1]

    @property
    def total_read(self) -> float:
        """The read units of all tables and indexes."""
        return sum(read for read, _ in self._now().values())

    @property
    def total_write(self) -> float:
        """The write units of all tables and indexes."""
        return sum(write for _, write in self._now().values())

    def __enter__(self) -> CapacitySpent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._now()
        self._meter = None

    def __repr__(self) -> str:
        places = (f"{_place(*where)}: {read:g} read, {write:g} write" for where, (read, write) in self._now().items())
        return f"<dynatwin.CapacitySpent {'; '.join(places) or 'nothing'}>"


def request(each: dict[str, Any]) -> Request:
    caller = each["caller"]
    return Request(
        number=each["number"],
        at=_words.parsed(each["at"]),
        access_key=caller["accessKey"],
        region=caller["region"],
        operation=each["operation"],
        tables=tuple(each["tables"]),
        accesses=tuple(_access(access) for access in each["accesses"]),
        status=each["status"],
        error=each.get("error"),
        delivery=each["delivery"]["kind"],
        read_units=each["readUnits"],
        write_units=each["writeUnits"],
        scanned=each["scanned"],
        returned=each["returned"],
    )


def _access(each: dict[str, Any]) -> RecordedAccess:
    return RecordedAccess(
        act=each["act"],
        table=each["table"],
        index=each.get("index"),
        key=_values.item(each["key"]),
        read_units=each["readUnits"],
        write_units=each["writeUnits"],
        error=each.get("error"),
    )


def scan(each: dict[str, Any]) -> Scan:
    caller = each["caller"]
    return Scan(
        operation=each["operation"],
        table=each["table"],
        index=each.get("index"),
        access_key=caller["accessKey"],
        region=caller["region"],
        first=_words.parsed(each["first"]),
        times=each["times"],
        scanned=each["scanned"],
        partition_keys=tuple((key.get("index"), key["attribute"]) for key in each["partitionKeys"]),
    )


def datapoint(each: dict[str, Any]) -> Datapoint:
    return Datapoint(**{**_words.shown(each), "start": _words.parsed(each["start"]), "dimensions": each["dimensions"]})


def heat(each: dict[str, Any]) -> Heat:
    return Heat(tuple(_resource(resource) for resource in each["resources"]), hot_keys(each))


def hot_keys(each: dict[str, Any]) -> tuple[HotKey, ...]:
    return tuple(HotKey(_values.value(key["key"]), key["units"]) for key in each["keys"])


def _resource(each: dict[str, Any]) -> ResourceHeat:
    return ResourceHeat(
        index=each.get("index"),
        read_units=each["read"]["units"],
        read_left=each["read"]["left"],
        read_throttles=each["read"]["throttles"],
        write_units=each["write"]["units"],
        write_left=each["write"]["left"],
        write_throttles=each["write"]["throttles"],
        partitions=tuple(_partition(partition) for partition in each["partitions"]),
    )


def _partition(each: dict[str, Any]) -> PartitionHeat:
    return PartitionHeat(
        first=each["first"],
        last=each["last"],
        bytes=each["bytes"],
        read_units=each["read"]["units"],
        read_throttles=each["read"]["throttles"],
        write_units=each["write"]["units"],
        write_throttles=each["write"]["throttles"],
    )


def index_state(each: dict[str, Any]) -> IndexState:
    return IndexState(each["index"], each["paused"], each["waiting"], each.get("lag"))


def replication_state(each: dict[str, Any]) -> ReplicationState:
    return ReplicationState(each["region"], each["paused"], each["arriving"], each["leaving"], each.get("lag"))


def assert_no_scans(watched: bool, scans: list[Scan]) -> None:
    assert watched or scans, (
        "dynatwin: the twin is not watched: call twin.watch(), or create the twin with watch=True, before the requests"
    )
    assert not scans, "\n".join([f"dynatwin: {len(scans)} kinds of scans:", *map(_complaint, scans)])


def assert_faults_fired(idle: list[FaultReport]) -> None:
    lines = [f"- {json.dumps(report.rule)}: {report.matched} matched" for report in idle]
    assert not idle, "\n".join(["dynatwin: fault rules that never acted, so the test did not exercise them:", *lines])


def _complaint(scan: Scan) -> str:
    items = "1 item" if scan.scanned == 1 else f"{scan.scanned} items"
    pages = "1 page" if scan.times == 1 else f"{scan.times} pages"
    who = f"by access key {scan.access_key} in {scan.region}, first at {scan.first.isoformat()}"
    where = _place(scan.table, scan.index)
    return f"- {scan.operation} of {where} {who}: {items} read in {pages}.\n  {_advice(scan)}"


def _advice(scan: Scan) -> str:
    # Suggests the scanned index or table first.
    keys = sorted(scan.partition_keys, key=lambda key: key[0] != scan.index)
    if scan.operation == "Scan":
        ways = [
            f'KeyConditionExpression "{key} = :value"' if index is None
            else f'IndexName "{index}" and KeyConditionExpression "{key} = :value"'
            for index, key in keys
        ]
        return f"A Query reads only the items of one partition key: {', or '.join(ways)}."
    ways = [
        f'FROM "{scan.table}" WHERE "{key}" = ?' if index is None
        else f'FROM "{scan.table}"."{index}" WHERE "{key}" = ?'
        for index, key in keys
    ]
    return f"A SELECT that fixes the partition key reads only its items: {', or '.join(ways)}."


def _place(table: str, index: str | None) -> str:
    return table if index is None else f"index {index} of {table}"
