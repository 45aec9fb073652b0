"""Delivers answers as the engine defines, and raises botocore's exceptions for network failures."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dynatwin._clock import Clock
    from dynatwin._dynatwin import Reply

# How long a client without a read timeout waits for an answer that never arrives, in seconds.
_PATIENCE = 60.0


def deliver(clock: Clock, request: Any, reply: Reply, read_timeout: float | None) -> Any:
    """Returns botocore's response to a request, or raises its exception."""
    from botocore.awsrequest import AWSResponse

    wait, late = _wait(clock, reply, read_timeout)
    if wait > 0:
        clock.sleep(wait)
    if late:
        _raise_timeout(request)
    status, headers, body, _, delivery, length = reply
    if delivery == "reset":
        from botocore.exceptions import ConnectionClosedError

        raise ConnectionClosedError(error=_connection_reset(), request=request, endpoint_url=request.url)
    # botocore reads the truncated body, and finds that its checksum is wrong.
    return response(AWSResponse, request.url, status, headers, body[:length], len(body))


async def async_deliver(
    clock: Clock,
    request: Any,
    reply: Reply,
    read_timeout: float | None,
    real_sleep: Callable[[float], Awaitable[object]],
) -> Any:
    """Returns aiobotocore's response to a request, or raises its exception."""
    from aiobotocore.awsrequest import AioAWSResponse

    wait, late = _wait(clock, reply, read_timeout)
    if wait > 0:
        await clock.async_sleep(wait, real_sleep)
    if late:
        _raise_timeout(request)
    status, headers, body, _, delivery, length = reply
    if delivery == "reset":
        from botocore.exceptions import EndpointConnectionError

        raise EndpointConnectionError(endpoint_url=request.url, error=_connection_reset())
    if length < len(body):
        from botocore.exceptions import ConnectionClosedError

        error = EOFError(f"the connection ended after {length} of {len(body)} bytes")
        raise ConnectionClosedError(error=error, request=request, endpoint_url=request.url)
    return response(AioAWSResponse, request.url, status, headers, body, length)


def _wait(clock: Clock, reply: Reply, read_timeout: float | None) -> tuple[float, bool]:
    """Returns how many seconds to wait for an answer, and whether the client's timeout ends earlier."""
    if reply[4] == "lost":
        return read_timeout or _PATIENCE, True
    wait = clock.until(reply[3])
    return (read_timeout, True) if read_timeout and wait > read_timeout else (wait, False)


def response(kind: Any, url: str, status: int, headers: list[tuple[str, str]], body: bytes, length: int) -> Any:
    """Returns a response of this class of botocore or aiobotocore, whose body has been read."""
    made = kind(url, status, [*headers, ("content-length", str(length))], None)
    made._content = body
    return made


def _raise_timeout(request: Any) -> NoReturn:
    from botocore.exceptions import ReadTimeoutError

    raise ReadTimeoutError(endpoint_url=request.url, error=TimeoutError("no answer arrived"))


def _connection_reset() -> OSError:
    return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
