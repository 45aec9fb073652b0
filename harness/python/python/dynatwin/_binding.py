"""Binds clients and sessions of botocore and aiobotocore to a twin, which answers them instead of a network.

A bound client's requests are answered in botocore's ``before-send`` event, so validation, serialization, retries and
parsing remain botocore's own. Its backoff between attempts and the polling of its waiters use the twin's clock.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dynatwin import _delivery, _shortcut

if TYPE_CHECKING:
    from dynatwin._clock import Clock
    from dynatwin._dynatwin import Reply
    from dynatwin._twin import Twin

# The services by the prefix of their endpoints in botocore's event names.
SERVICES = {"dynamodb": "dynamodb", "streams.dynamodb": "dynamodb-streams"}

ACCESS_KEY = "dynatwin"
SECRET_KEY = "not checked"
REGION = "us-east-1"

Sign = Callable[[bytes, Mapping[str, Any]], list[tuple[str, str | bytes]]]
"""Returns the headers that sign a request with this body and these headers."""

_ATTRIBUTE = "_dynatwin_binding"
_waiters = threading.Lock()


class Binding:
    """Answers an endpoint's requests. `find` returns the twin, or None to send requests to the network."""

    def __init__(
        self,
        endpoint: Any,
        find: Callable[[], Twin | None],
        read_timeout: float | None,
        region: str,
        access_key: str | None,
        sign: Sign | None,
    ) -> None:
        self._sign = sign
        self.find = find
        self.read_timeout = read_timeout
        self._endpoint = weakref.proxy(endpoint)
        self._service = SERVICES[endpoint._endpoint_prefix]
        self._needs_retry = type(endpoint)._needs_retry
        self._answered = threading.local()
        self._authorization: list[tuple[str, str | bytes]] = []
        if access_key is not None:
            credential = f"Credential={access_key}/20260101/{region}/dynamodb/aws4_request"
            signature = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host;x-amz-date, Signature=0"
            self._authorization = [("authorization", signature), ("x-amz-date", "20260101T000000Z")]

    def choose_signer(self, **_: Any) -> Any:
        """Leaves requests unsigned, so that a client needs no credentials and spends no time on signing."""
        from botocore import UNSIGNED

        return UNSIGNED if (self._sign or self._authorization) and self.find() is not None else None

    def send(self, request: Any, **_: Any) -> Any:
        """Handles botocore's ``before-send`` event."""
        twin = self.find()
        if twin is None:
            return None
        reply: Reply | None = self._answered.__dict__.pop("reply", None)
        return _delivery.deliver(twin.clock, request, reply or self._reply(twin, request), self.read_timeout)

    async def async_send(self, request: Any, **_: Any) -> Any:
        """Handles aiobotocore's ``before-send`` event."""
        twin = self.find()
        if twin is None:
            return None
        return await _delivery.async_deliver(
            twin.clock, request, self._reply(twin, request), self.read_timeout, self.real_sleep
        )

    @contextlib.contextmanager
    def answered(self, reply: Reply) -> Iterator[None]:
        """Delivers this answer to the first attempt that the calling thread sends."""
        self._answered.reply = reply
        try:
            yield
        finally:
            self._answered.__dict__.clear()

    def _reply(self, twin: Twin, request: Any) -> Reply:
        return self.reply(twin, request.method, request.url, request.headers, request.body)

    def reply(self, twin: Twin, method: str, url: str, headers: Mapping[str, str | bytes], body: Any) -> Reply:
        """Returns the engine's answer to a request."""
        path = url.find("/", url.find("://") + 3)
        if not isinstance(body, bytes):
            body = _whole(body)
        added = self._authorization if self._sign is None else self._sign(body, headers)
        return twin.engine.handle(method, url[path:] if path > 0 else "/", [*headers.items(), *added], body)

    def needs_retry(
        self, attempts: int, operation_model: Any, request_dict: Any, response: Any = None, caught_exception: Any = None
    ) -> bool:
        """Replaces ``Endpoint._needs_retry`` and pauses on the twin's clock."""
        twin = self.find()
        if twin is None:
            passed = (attempts, operation_model, request_dict, response, caught_exception)
            return bool(self._needs_retry(self._endpoint, *passed))
        emitted = self._emit(attempts, operation_model, request_dict, response, caught_exception)
        pause = _pause(emitted)
        if pause is None:
            return False
        twin.clock.sleep(pause)
        return True

    async def async_needs_retry(
        self, attempts: int, operation_model: Any, request_dict: Any, response: Any = None, caught_exception: Any = None
    ) -> bool:
        """Replaces ``AioEndpoint._needs_retry`` and pauses on the twin's clock."""
        twin = self.find()
        if twin is None:
            passed = (attempts, operation_model, request_dict, response, caught_exception)
            return bool(await self._needs_retry(self._endpoint, *passed))
        emitted = await self._emit(attempts, operation_model, request_dict, response, caught_exception)
        pause = _pause(emitted)
        if pause is None:
            return False
        await twin.clock.async_sleep(pause, self.real_sleep)
        return True

    def _emit(
        self, attempts: int, operation_model: Any, request_dict: Any, response: Any, caught_exception: Any
    ) -> Any:
        return self._endpoint._event_emitter.emit(
            f"needs-retry.{self._service}.{operation_model.name}",
            response=response,
            endpoint=self._endpoint,
            operation=operation_model,
            attempts=attempts,
            caught_exception=caught_exception,
            request_dict=request_dict,
        )

    async def real_sleep(self, length: float) -> None:
        """Sleeps in real time, in the endpoint's event loop: aiobotocore with httpx also supports trio."""
        sleep = getattr(self._endpoint, "_sleep", None)
        if sleep is None:
            import asyncio

            sleep = asyncio.sleep
        await sleep(length)


def bind(
    endpoint: Any,
    find: Callable[[], Twin | None],
    *,
    read_timeout: float | None,
    region: str,
    access_key: str | None = None,
    sign: Sign | None = None,
) -> Binding:
    """Binds an endpoint to the twin that `find` returns.

    With an `access_key` its requests have that one and are not signed; with `sign` they have the headers that it returns.
    """
    _pace_waiters()
    _shortcut.remove(endpoint)
    binding = Binding(endpoint, find, read_timeout, region, access_key, sign)
    asynchronous = inspect.iscoroutinefunction(type(endpoint)._send)
    events, service = endpoint._event_emitter, SERVICES[endpoint._endpoint_prefix]
    handlers: dict[str, Any] = {"before-send": binding.async_send if asynchronous else binding.send}
    if access_key is not None or sign is not None:
        handlers["choose-signer"] = binding.choose_signer
    for event in ("before-send", "choose-signer"):
        name, unique = f"{event}.{service}", f"dynatwin-{event}"
        if _ATTRIBUTE in endpoint.__dict__:
            events.unregister(name, unique_id=unique)
        if event in handlers:
            events.register_first(name, handlers[event], unique_id=unique)
    endpoint._needs_retry = binding.async_needs_retry if asynchronous else binding.needs_retry
    setattr(endpoint, _ATTRIBUTE, binding)
    return binding


def binding_of(endpoint: Any) -> Binding | None:
    """Returns the binding of an endpoint, or None."""
    binding: Binding | None = endpoint.__dict__.get(_ATTRIBUTE)
    return binding


def bind_client(
    client: Any, find: Callable[[], Twin | None], access_key: str | None = None, sign: Sign | None = None
) -> Binding:
    """Binds a client, as :func:`bind` does its endpoint."""
    prefix = client._endpoint._endpoint_prefix
    if prefix not in SERVICES:
        raise TypeError(f"A twin answers clients of dynamodb and dynamodbstreams, but not of {prefix}.")
    meta = client.meta
    timeout, region = meta.config.read_timeout, meta.region_name
    return bind(client._endpoint, find, read_timeout=timeout, region=region, access_key=access_key, sign=sign)


def botocore_session(session: Any) -> Any:
    """Returns the botocore or aiobotocore session of a boto3 or aioboto3 session."""
    session = getattr(session, "_session", session)
    if not hasattr(session, "register") or not hasattr(session, "get_component"):
        raise TypeError(f"{session!r} is neither a session nor a client of botocore, boto3 or aiobotocore.")
    return session


class SessionBinding:
    """Binds every client that a session creates, and gives the session credentials and a region if it has none."""

    def __init__(
        self,
        session: Any,
        find: Callable[[], Twin | None],
        bound: Callable[[Binding], None],
        access_key: str | None = None,
    ) -> None:
        self.session = botocore_session(session)

        class Attached:
            """The base class of clients that are created while the session is attached."""

            meta: Any
            _endpoint: Any

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                bound(bind_client(self, find, access_key))

        def hook(base_classes: list[type], **_: Any) -> None:
            base_classes.insert(0, Attached)

        self._hooks = {service: f"dynatwin-{id(self)}-{service}" for service in SERVICES.values()}
        for service, unique in self._hooks.items():
            self.session.register(f"creating-client-class.{service}", hook, unique_id=unique)
        self._provider = _fallback(self.session)

    def remove(self) -> None:
        """Detaches the session: clients created from now on are not bound."""
        for service, unique in self._hooks.items():
            self.session.unregister(f"creating-client-class.{service}", unique_id=unique)
        providers = self.session.get_component("credential_provider").providers
        if self._provider in providers:
            providers.remove(self._provider)


def _fallback(session: Any) -> Any:
    """Adds default credentials, before those of the instance's metadata service, and a default region."""
    from botocore.credentials import CredentialProvider, Credentials

    if session.get_config_variable("region") is None:
        session.set_config_variable("region", REGION)

    class Provider(CredentialProvider):  # type: ignore[misc, unused-ignore]
        METHOD = "dynatwin"
        CANONICAL_NAME = None

        def load(self) -> Any:
            return Credentials(ACCESS_KEY, SECRET_KEY, method=self.METHOD)

    provider = Provider()
    if inspect.iscoroutinefunction(type(session).get_credentials):
        from aiobotocore.credentials import AioCredentials

        async def load() -> Any:
            return AioCredentials(ACCESS_KEY, SECRET_KEY, method="dynatwin")

        provider.load = load  # type: ignore[method-assign]
    providers = session.get_component("credential_provider").providers
    names = [each.METHOD for each in providers]
    providers.insert(next((names.index(name) for name in ("container-role", "iam-role") if name in names), len(names)), provider)
    return provider


def _pause(emitted: Any) -> float | None:
    """Returns the pause that the handlers of ``needs-retry`` decide on, or None to give up."""
    from botocore.hooks import first_non_none_response

    pause = first_non_none_response(emitted)
    return None if pause is None or pause is False else pause


def _whole(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return bytes(body.read() if hasattr(body, "read") else body)


def _pace_waiters() -> None:
    """Makes waiters of bound clients sleep on their twin's clock."""
    import sys

    from botocore.waiter import Waiter

    with _waiters:
        if "dynatwin" not in getattr(Waiter.wait, "__module__", ""):
            Waiter.wait = _paced(Waiter.wait)
        if "aiobotocore" in sys.modules:
            from aiobotocore.waiter import AIOWaiter

            if "dynatwin" not in getattr(AIOWaiter.wait, "__module__", ""):
                AIOWaiter.wait = _async_paced(AIOWaiter.wait)


def _paced(original: Any) -> Any:
    def wait(self: Any, **kwargs: Any) -> Any:
        paced, kwargs = _without_delay(self, kwargs, _Operation)
        return original(paced, **kwargs)

    return wait


def _async_paced(original: Any) -> Any:
    async def wait(self: Any, **kwargs: Any) -> Any:
        paced, kwargs = _without_delay(self, kwargs, _AsyncOperation)
        return await original(paced, **kwargs)

    return wait


def _without_delay(waiter: Any, kwargs: dict[str, Any], operation: type) -> tuple[Any, dict[str, Any]]:
    """A waiter that does not sleep itself; its operation does."""
    client: Any = getattr(getattr(waiter._operation_method, "_client_method", None), "__self__", None)
    binding = binding_of(client._endpoint) if hasattr(client, "_endpoint") else None
    twin = binding.find() if binding else None
    if binding is None or twin is None:
        return waiter, kwargs
    config = kwargs.get("WaiterConfig", {})
    delay = config.get("Delay", waiter.config.delay)
    paced = copy.copy(waiter)
    paced._operation_method = operation(waiter._operation_method, twin.clock, delay, binding)
    return paced, {**kwargs, "WaiterConfig": {**config, "Delay": 0}}


class _Operation:
    """A waiter's operation that sleeps before each repeated call."""

    def __init__(self, method: Any, clock: Clock, delay: float, binding: Binding) -> None:
        self._method = method
        self._clock = clock
        self._delay = delay
        self._binding = binding
        self._called = False

    def __call__(self, **kwargs: Any) -> Any:
        if self._called:
            self._clock.sleep(self._delay)
        self._called = True
        return self._method(**kwargs)


class _AsyncOperation(_Operation):
    """An aiobotocore waiter's operation that sleeps before each repeated call."""

    async def __call__(self, **kwargs: Any) -> Any:
        if self._called:
            await self._clock.async_sleep(self._delay, self._binding.real_sleep)
        self._called = True
        return await self._method(**kwargs)
