"""The types of conditions: what the emulator does of what production does."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypedDict


class _LagRange(TypedDict):
    typical: float | timedelta
    longest: float | timedelta


class LagRange(_LagRange, total=False):
    """Half of all within `typical` seconds and the rest up to `longest`; with `p99`, a long tail."""

    p99: float | timedelta


Lag = float | timedelta | LagRange
"""How long after something is due it happens, in seconds."""


class Latency(TypedDict, total=False):
    """How long requests take, by the class of their operation."""

    read: Lag
    write: Lag
    query: Lag
    transaction: Lag
    control: Lag
    per_kilobyte: float


class Enforcement(TypedDict, total=False):
    """How capacity is enforced; members that are absent are as in the service."""

    burst: float
    adaptive: bool
    partition_read: int
    partition_write: int
    partition_size: int
    heat_split: float | Literal["never"]
    growth: float
    shard_readers: int


Name = Literal["calm", "aws", "storm"]


class Conditions(TypedDict, total=False):
    """What the emulator does of what production does. Members replace those of `base`, or of the present conditions."""

    base: Name
    time_to_live: Lag | Literal["off"]
    index_propagation: Lag
    read_staleness: Lag
    stale_reads: float
    monotonic_reads: bool
    transaction_time: Lag
    stream_lag: Lag
    stream_shards: int | Literal["throughput"]
    table_status: Lag
    statistics_age: float
    item_collection_size: int
    stream_bytes: int | Literal["unlimited"]
    recovery_bytes: int | Literal["unlimited"]
    capacity: Literal["reported", "enforced"] | Enforcement
    control_limits: bool
    latency: Literal["none"] | Latency
    internal_errors: float
    throttles: float
