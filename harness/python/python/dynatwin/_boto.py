"""Clients and resources of boto3 that are bound to twins."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynatwin import _binding, _shortcut

if TYPE_CHECKING:
    from dynatwin._twin import Twin

_creation = threading.Lock()


@functools.cache
def loader() -> Any:
    """A loader of service models that all sessions share, so that they are read once."""
    import botocore.session

    return botocore.session.Session().get_component("data_loader")


def new_session(region: str, access_key: str) -> Any:
    """Returns a boto3 session that is not bound to a twin yet."""
    import boto3
    import botocore.session

    below = botocore.session.Session()
    below.register_component("data_loader", loader())
    return boto3.Session(access_key, _binding.SECRET_KEY, region_name=region, botocore_session=below)


@functools.cache
def _clients() -> Any:
    return new_session(_binding.REGION, _binding.ACCESS_KEY)


def make(
    kind: str,
    service: str,
    find: Callable[[], Twin | None],
    options: dict[str, Any],
    sign: _binding.Sign | None = None,
) -> Any:
    """Creates a client or resource for the twin that `find` returns; with `sign` its requests are signed.

    All twins share its session, which reduces its cost to a fifth.
    """
    options, access_key = unsigned(options)
    # Sessions are not thread-safe.
    with _creation:
        created = getattr(_clients(), kind)(service, **options)
    client = created if kind == "client" else created.meta.client
    binding = _binding.bind_client(client, find, access_key, sign)
    if access_key is not None or sign is not None:
        _shortcut.install(client, binding)
    return created


def checked_service(service: str) -> str:
    """Returns the name of a service, and raises a ValueError if a twin has no clients of it."""
    if service not in ("dynamodb", "dynamodbstreams"):
        raise ValueError(f"A twin has clients of dynamodb and dynamodbstreams, but not of {service}.")
    return service


def unsigned(options: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Returns the options of a client that omits what no twin reads: signatures, unless `options` define how to
    sign, and the user agent. Also returns the access key of a client that does not sign."""
    from botocore.config import Config

    config = options.get("config")
    signs = "aws_secret_access_key" in options or (config is not None and config.signature_version is not None)
    if config is None or config.user_agent is None:
        brief = Config(user_agent="dynatwin")
        config = brief if config is None else config.merge(brief)
    access_key = options.get("aws_access_key_id", _binding.ACCESS_KEY)
    keys = {"aws_access_key_id": access_key, "aws_secret_access_key": _binding.SECRET_KEY}
    return {**keys, **options, "config": config}, None if signs else access_key
