"""The definition of a table, from the arguments of `Twin.create_table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

KeyAttribute = str | tuple[str, Literal["S", "N", "B"]]
"""The name of a key attribute, with its type unless that is ``S``."""


def create_table_request(
    name: str,
    hash: KeyAttribute,
    range: KeyAttribute | None,
    global_indexes: Mapping[str, KeyAttribute | Sequence[KeyAttribute]],
    local_indexes: Mapping[str, KeyAttribute],
    stream: str | None,
    throughput: tuple[int, int] | None,
) -> dict[str, Any]:
    """Returns a CreateTable request."""
    attributes: dict[str, str] = {}

    def schema(keys: Sequence[KeyAttribute]) -> list[dict[str, str]]:
        elements = []
        for key, kind in zip(keys, ("HASH", "RANGE")):
            attribute, of_type = (key, "S") if isinstance(key, str) else key
            attributes[attribute] = of_type
            elements.append({"AttributeName": attribute, "KeyType": kind})
        return elements

    def index(index: str, keys: Sequence[KeyAttribute]) -> dict[str, Any]:
        return {"IndexName": index, "KeySchema": schema(keys), "Projection": {"ProjectionType": "ALL"}}

    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": schema([hash] if range is None else [hash, range]),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if global_indexes:
        request["GlobalSecondaryIndexes"] = [index(each, _keys(keys)) for each, keys in global_indexes.items()]
    if local_indexes:
        request["LocalSecondaryIndexes"] = [index(each, [hash, key]) for each, key in local_indexes.items()]
    if stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
    if throughput is not None:
        units = {"ReadCapacityUnits": throughput[0], "WriteCapacityUnits": throughput[1]}
        for resource in [request, *request.get("GlobalSecondaryIndexes", [])]:
            resource["ProvisionedThroughput"] = units
        request["BillingMode"] = "PROVISIONED"
    request["AttributeDefinitions"] = [
        {"AttributeName": attribute, "AttributeType": of_type} for attribute, of_type in attributes.items()
    ]
    return request


def _keys(keys: KeyAttribute | Sequence[KeyAttribute]) -> Sequence[KeyAttribute]:
    """Returns the keys of a global index: one, or a list of two. A tuple is one key with its type."""
    return keys if isinstance(keys, list) else [keys]  # type: ignore[list-item]
