"""Attribute values, in the format of botocore's client: ``{"S": "a"}``, with binary values as bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

AttributeValue = Mapping[str, Any]
"""A value in the format of botocore's client, such as ``{"S": "a"}`` or ``{"B": b"..."}``."""

Key = Mapping[str, AttributeValue]
"""The key attributes of an item."""


def item(each: dict[str, Any]) -> dict[str, AttributeValue]:
    """Converts an item from JSON, which has binary values in base64."""
    return {name: value(member) for name, member in each.items()}


def value(each: dict[str, Any]) -> dict[str, Any]:
    """Converts a value from JSON."""
    ((kind, inside),) = each.items()
    if kind == "B":
        inside = base64.b64decode(inside)
    elif kind == "BS":
        inside = [base64.b64decode(one) for one in inside]
    elif kind == "L":
        inside = [value(one) for one in inside]
    elif kind == "M":
        inside = item(inside)
    return {kind: inside}


def plain(each: Any) -> Any:
    """Converts a value for JSON, with binary values in base64."""
    if isinstance(each, Mapping):
        return {name: plain(member) for name, member in each.items()}
    if isinstance(each, (list, tuple)):
        return [plain(member) for member in each]
    if isinstance(each, (bytes, bytearray)):
        return base64.b64encode(each).decode()
    return each


def same(one: AttributeValue, other: AttributeValue) -> bool:
    """Returns whether two key values are equal; numbers are compared by value."""
    if "N" in one and "N" in other:
        from decimal import Decimal

        return Decimal(one["N"]) == Decimal(other["N"])
    return bool(plain(one) == plain(other))
