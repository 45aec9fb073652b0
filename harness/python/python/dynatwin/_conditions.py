"""The types of conditions, which control the production behavior that the emulator shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypedDict


class _LagRange(TypedDict):
    typical: float | timedelta
    longest: float | timedelta


class LagRange(_LagRange, total=False):
    """Half of all delays are at most `typical` seconds, the rest at most `longest`; with `p99`, a long tail."""

    p99: float | timedelta


Lag = float | timedelta | LagRange
"""The delay of due work, in seconds."""


class Latency(TypedDict, total=False):
    """The latency of requests, by the class of their operation."""

    read: Lag
    write: Lag
    query: Lag
    transaction: Lag
    control: Lag
    per_kilobyte: float


class Enforcement(TypedDict, total=False):
    """How capacity is enforced; absent members have the service's values."""

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
    """The production behavior that the emulator shows. Members replace those of `base`, or of the current
    conditions."""

    base: Name
    time_to_live: Lag | Literal["off"]
    index_propagation: Lag
    read_staleness: Lag
    stale_reads: float
    monotonic_reads: bool
    transaction_time: Lag
    replication_lag: Lag
    region_round_trip: Lag
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
