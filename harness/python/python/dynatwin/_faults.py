"""Fault rules, which make requests fail, wait, or lose their answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Protocol

from dynatwin import _words, controls
from dynatwin.controls import Call

Verdict = (
    Literal[
        "throttle",
        "internal_server_error",
        "internal_server_error_after_apply",
        "service_unavailable",
        "item_collection_size_limit_exceeded",
        "limit_exceeded",
        "reset",
        "answer_lost",
        "corrupt_checksum",
        "fail_job",
    ]
    | Mapping[Literal["throttle", "exception", "kms", "wait", "truncate", "fail_job"], Any]
)
"""The effect of a rule, such as ``"throttle"`` or ``{"wait": 2.5}``. See docs/faults.md."""

Outage = Literal["brownout", "throttle-storm", "az-loss"]
When = datetime | str | float | timedelta


class Control(Protocol):
    """Calls a control of the twin."""

    def __call__(self, call: Call) -> Any: ...


@dataclass(frozen=True)
class FaultReport:
    """The counters of a fault rule."""

    id: int
    rule: Mapping[str, Any]
    """The rule, as :func:`dynatwin.controls.add_fault` accepts it."""
    matched: int
    """How many requests, or entries of batches and transactions, it matched."""
    fired: int
    """How many of those it acted on."""


class Fault:
    """A fault rule. As a context manager it is removed at the end of the block, and keeps its counters.

    >>> from dynatwin import Twin
    >>> twin = Twin(seed=7)
    >>> with twin.faults.add("throttle", first=2) as throttled:
    ...     _ = twin.client().list_tables()
    >>> throttled.fired
    2
    """

    def __init__(self, control: Control, id: int) -> None:
        self._control = control
        self._removed: FaultReport | None = None
        self.id = id

    def report(self) -> FaultReport | None:
        """The rule's counters; None after :meth:`Faults.clear` or a reset."""
        reports = _reports(self._control(controls.list_faults())["rules"])
        return next((report for report in reports if report.id == self.id), self._removed)

    @property
    def matched(self) -> int:
        """How many requests, or entries of batches and transactions, the rule matched."""
        report = self.report()
        return report.matched if report else 0

    @property
    def fired(self) -> int:
        """How many of those it acted on."""
        report = self.report()
        return report.fired if report else 0

    def assert_fired(self, times: int) -> None:
        """Asserts on how many requests, or entries of batches and transactions, the rule acted."""
        report = self.report()
        if report is None:
            assert times == 0, f"the rule was removed, and should have fired {times} times"
            return
        detail = f"{json.dumps(report.rule)}: fired {report.fired} times of {report.matched} that matched, not {times}"
        assert report.fired == times, detail

    def remove(self) -> None:
        """Removes the rule, unless it was removed before. Its counters are kept."""
        if self._removed is None and self.report() is not None:
            self._removed = _reports([self._control(controls.remove_fault(self.id))])[0]

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<dynatwin.Fault {self.report()}>"


class Faults:
    """The fault rules of a twin. The first rule that acts on a request decides.

    >>> from dynatwin import Twin
    >>> twin = Twin(seed=7)
    >>> throttled = twin.faults.add("throttle", operation="PutItem", first=2)
    >>> throttled.fired
    0
    """

    def __init__(self, control: Control) -> None:
        self._control = control

    def add(
        self,
        verdict: Verdict,
        *,
        operation: str | None = None,
        table: str | None = None,
        index: str | None = None,
        caller: str | None = None,
        partition: str | None = None,
        partition_prefix: str | None = None,
        region: str | None = None,
        after: When | None = None,
        until: When | None = None,
        lasting: float | timedelta | None = None,
        first: int | None = None,
        nth: int | None = None,
        every_nth: int | None = None,
        share: float | None = None,
    ) -> Fault:
        """Adds a rule after the existing ones.

        The rule matches all requests with the given properties: an operation, a table, an index, the access key of a
        `caller`, a partition key or its prefix, a region, a window of the twin's clock (moments, or seconds from now;
        `lasting` instead of `until`). It acts on each, or on the `first` n, the `nth`, every nth, or a `share` from 0
        to 1 of them.

        Raises ValueError for a rule that can never act.
        """
        scope = _scope(operation, table, index, caller, partition, partition_prefix, region, after, until, lasting)
        occasion = {"first": first, "nth": nth, "every_nth": every_nth, "share": share}
        rule = {"verdict": _verdict(verdict), **scope, **occasion}
        return Fault(self._control, self._control(controls.add_fault(_words.camel_cased(rule)))["id"])

    def start_outage(
        self,
        outage: Outage,
        *,
        operation: str | None = None,
        table: str | None = None,
        index: str | None = None,
        caller: str | None = None,
        partition: str | None = None,
        partition_prefix: str | None = None,
        region: str | None = None,
        after: When | None = None,
        until: When | None = None,
        lasting: float | timedelta | None = None,
    ) -> list[Fault]:
        """Starts an outage: adds its rules after the existing ones. The other arguments are those of :meth:`add`."""
        scope = _scope(operation, table, index, caller, partition, partition_prefix, region, after, until, lasting)
        started = self._control(controls.start_outage(_words.camel_cased({"outage": outage, **scope})))
        return [Fault(self._control, report.id) for report in _reports(started["rules"])]

    def clear(self) -> None:
        """Removes all rules."""
        self._control(controls.clear_faults())

    def report(self) -> list[FaultReport]:
        """Returns the rules with their counters."""
        return _reports(self._control(controls.list_faults())["rules"])

    def never_fired(self) -> list[FaultReport]:
        """Returns the rules that never acted, including those that were removed."""
        return _reports(self._control(controls.list_faults())["neverFired"])


def _scope(
    operation: str | None,
    table: str | None,
    index: str | None,
    caller: str | None,
    partition: str | None,
    partition_prefix: str | None,
    region: str | None,
    after: When | None,
    until: When | None,
    lasting: float | timedelta | None,
) -> dict[str, Any]:
    return {
        "operation": operation,
        "table": table,
        "index": index,
        "caller": caller,
        "partition": partition,
        "partition_prefix": partition_prefix,
        "region": region,
        "after": after,
        "until": until,
        "for": lasting,
    }


def _verdict(verdict: Verdict) -> object:
    return _words.camel(verdict) if isinstance(verdict, str) else verdict


def _reports(reports: list[dict[str, Any]]) -> list[FaultReport]:
    return [FaultReport(each["id"], each["rule"], each["matched"], each["fired"]) for each in reports]
