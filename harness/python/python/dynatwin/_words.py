"""Conversions of names and values between Python and the controls over HTTP, which use camelCase."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def camel(word: str) -> str:
    """Converts ``index_propagation`` to ``indexPropagation``."""
    first, *rest = word.split("_")
    return first + "".join(part.capitalize() for part in rest)


def snake(word: str) -> str:
    """Converts ``indexPropagation`` to ``index_propagation``."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda letter: "_" + letter.group().lower(), word)


def camel_cased(value: Any) -> Any:
    """Converts a value to a control's JSON: names in camelCase, durations in seconds, moments as text."""
    if isinstance(value, Mapping):
        return {camel(name): camel_cased(member) for name, member in value.items() if member is not None}
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return iso(value)
    return value


def shown(value: Any) -> Any:
    """Converts a control's answer to snake_case."""
    if isinstance(value, dict):
        return {snake(name): shown(member) for name, member in value.items()}
    return value


def sentence(text: str) -> str:
    """Converts the member names in an error text to snake_case."""
    return re.sub(r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b", lambda word: snake(word.group()), text)


def micros(moment: datetime) -> int:
    """Returns a moment in microseconds since 1970. Without a time zone it is in UTC, like the emulator's moments."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def iso(moment: datetime | str) -> str:
    """Returns a moment as text. Without a time zone it is in UTC."""
    if isinstance(moment, str):
        return moment
    return at(micros(moment)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def at(since: int) -> datetime:
    """Returns the moment that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=since)


def parsed(text: str) -> datetime:
    """Parses a moment such as ``2026-01-01T00:00:00Z``."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def seconds(length: float | timedelta) -> float:
    """Returns a duration in seconds."""
    length = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if not 0 <= length < 1e12:
        raise ValueError(f"A duration must be a number of seconds not below 0, not {length}.")
    return length
