"""Access control: principals of the configured accounts, and what is decided about their requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from dynatwin import _boto

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient, DynamoDBServiceResource
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

    from dynatwin._twin import Twin

AccessConfiguration = Mapping[str, Any] | str | os.PathLike[str]
"""Accounts, principals and policies: a mapping, its JSON text, or the path of a JSON file."""


@dataclass(frozen=True)
class PolicyWarning:
    """A valid policy that does not mean what it seems to."""

    policy: str
    statement: int
    """The statement's place in the policy, from 1."""
    code: str
    message: str


@dataclass(frozen=True)
class UsedPermissions:
    """The policy that allows what a principal has done, and nothing else."""

    principal: str
    """The ARN of a user, role or root user; without access control an access key."""
    policy: Mapping[str, Any]


@dataclass(frozen=True)
class Credentials:
    """Temporary credentials, which expire on the twin's clock."""

    access_key: str
    secret_key: str
    session_token: str


class Principal:
    """A principal of the configured accounts, whose clients send requests as it. Made by :meth:`Twin.as_role` and its like.

    Requests are signed at the time of the twin's clock.
    """

    def __init__(self, twin: Twin, arn: str, credentials: Credentials, region: str, origin: Mapping[str, str]) -> None:
        self.arn = arn
        self.credentials = credentials
        self._twin = twin
        self._region = region
        self._origin = origin

    @overload
    def client(self, service: Literal["dynamodb"] = "dynamodb", **options: Any) -> DynamoDBClient: ...
    @overload
    def client(self, service: Literal["dynamodbstreams"], **options: Any) -> DynamoDBStreamsClient: ...
    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """A client of boto3 that sends requests as this principal. `options` are those of ``boto3.Session.client``."""
        return self._make("client", service, options)

    def resource(self, service: Literal["dynamodb"] = "dynamodb", **options: Any) -> DynamoDBServiceResource:
        """A resource of boto3 that sends requests as this principal."""
        resource: DynamoDBServiceResource = self._make("resource", service, options)
        return resource

    def _make(self, kind: str, service: str, options: dict[str, Any]) -> Any:
        twin = self._twin
        options = {"region_name": self._region, **options}
        return _boto.make(kind, _boto.checked_service(service), lambda: twin, options, self._sign)

    def _sign(self, body: bytes, headers: Mapping[str, Any]) -> list[tuple[str, str | bytes]]:
        """The headers of a request with this body that signs it as this principal."""
        date = self._twin.clock.now().strftime("%Y%m%dT%H%M%SZ")
        added: list[tuple[str, str | bytes]] = []
        host = headers.get("host")
        if host is None:
            host = "localhost"
            added.append(("host", host))
        host = host.decode() if isinstance(host, bytes) else host
        signature = _signature(self.credentials, self._region, date, host, body)
        added += [("authorization", signature), ("x-amz-date", date)]
        return [*added, ("x-amz-security-token", self.credentials.session_token), *self._origin.items()]

    def __repr__(self) -> str:
        return f"<dynatwin.Principal {self.arn}>"


def text_of(iam: AccessConfiguration) -> str:
    """A configuration as JSON."""
    if isinstance(iam, Mapping):
        return json.dumps(iam)
    if isinstance(iam, str) and iam.lstrip().startswith("{"):
        return iam
    return Path(iam).read_text(encoding="utf-8")


def _signature(credentials: Credentials, region: str, date: str, host: str, body: bytes) -> str:
    """The ``Authorization`` header of Signature Version 4 for a POST of ``/``."""
    scope = [date[:8], region, "dynamodb", "aws4_request"]
    signed = "host;x-amz-date"
    canonical = f"POST\n/\n\nhost:{host}\nx-amz-date:{date}\n\n{signed}\n{hashlib.sha256(body).hexdigest()}"
    text = f"AWS4-HMAC-SHA256\n{date}\n{'/'.join(scope)}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{credentials.access_key}/{'/'.join(scope)}"
    return f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={signed}, Signature={signature}"

