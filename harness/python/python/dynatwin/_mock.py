"""Intercepts every DynamoDB client of the process, as a decorator, a context manager, or with start and stop."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dynatwin import _binding
from dynatwin._twin import ClockOption, ConditionsOption, Twin, announce

if TYPE_CHECKING:
    import unittest

F = TypeVar("F", bound=Callable[..., Any])


class _Active:
    """A twin that intercepts clients. `outer` is the one that did so before it in this thread or task."""

    def __init__(self, twin: Twin, outer: _Active | None) -> None:
        self.twin = twin
        self.outer = outer
        self.ended = False


class _Catching:
    """The active twins, innermost last, and the hooks by which they intercept clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[_Active] = []
        # Threads that run tests concurrently each have their own; other threads use the innermost of all.
        self._here: ContextVar[_Active | None] = ContextVar("dynatwin_mock", default=None)
        self._replaced: list[tuple[Any, str, Any]] = []

    def twin(self) -> Twin | None:
        """The twin that answers the clients of this thread or task."""
        here = self._innermost()
        if here is not None:
            return here.twin
        active = self._active
        return active[-1].twin if active else None

    def _innermost(self) -> _Active | None:
        """The innermost active twin that this thread or task has entered."""
        here = self._here.get()
        while here is not None and here.ended:
            here = here.outer
        return here

    def begin(self, new: Callable[[], Twin], joins: bool) -> _Active:
        """Starts to intercept clients, with the twin of the enclosing mock if there is one and this one joins it."""
        outer = self._innermost()
        entered = _Active(outer.twin if joins and outer is not None else new(), outer)
        with self._lock:
            if not self._active:
                self._install()
            self._active = [*self._active, entered]
        self._here.set(entered)
        return entered

    def end(self, entered: _Active) -> None:
        entered.ended = True
        with self._lock:
            self._active = [each for each in self._active if each is not entered]
            if not self._active:
                self._uninstall()
        if self._here.get() is entered:
            self._here.set(self._innermost())

    def _install(self) -> None:
        from botocore.endpoint import Endpoint
        from botocore.session import Session

        self._replace(Endpoint, "make_request", self._making_requests)
        self._replace(Session, "create_client", self._creating_clients)
        if "aiobotocore" in sys.modules:
            from aiobotocore.session import AioSession

            self._replace(AioSession, "create_client", self._creating_clients)

    def _uninstall(self) -> None:
        while self._replaced:
            owner, name, original = self._replaced.pop()
            setattr(owner, name, original)

    def _replace(self, owner: Any, name: str, replaced: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        self._replaced.append((owner, name, original))
        setattr(owner, name, functools.wraps(original)(replaced(original)))

    def _making_requests(self, original: Any) -> Any:
        """Binds an endpoint before it sends a request if no twin answers it, to intercept clients that were created earlier,
        and those that a twin has detached."""

        def make_request(endpoint: Any, operation_model: Any, request_dict: Any) -> Any:
            if endpoint._endpoint_prefix in _binding.SERVICES and not _is_answered(endpoint):
                context = request_dict["context"]
                _binding.bind(
                    endpoint,
                    self.twin,
                    read_timeout=context["client_config"].read_timeout,
                    region=context.get("client_region") or _binding.REGION,
                    access_key=_binding.ACCESS_KEY,
                )
            return original(endpoint, operation_model, request_dict)

        return make_request

    def _creating_clients(self, original: Any) -> Any:
        """Gives new clients a region and credentials if they have none. The environment's credentials are not looked
        up, because that can request the instance's metadata, and requests are not signed."""

        def create_client(session: Any, service_name: str, region_name: str | None = None, *args: Any, **kwargs: Any) -> Any:
            if self.twin() is not None and service_name in ("dynamodb", "dynamodbstreams"):
                config = kwargs.get("config")
                if region_name is None and (config is None or config.region_name is None):
                    region_name = session.get_config_variable("region") or _binding.REGION
                if not args and session._credentials is None and kwargs.get("aws_access_key_id") is None:
                    keys = {"aws_access_key_id": _binding.ACCESS_KEY, "aws_secret_access_key": _binding.SECRET_KEY}
                    kwargs = {**kwargs, **keys}
            return original(session, service_name, region_name, *args, **kwargs)

        return create_client


def _is_answered(endpoint: Any) -> bool:
    """Returns whether an endpoint is bound to a twin, and has not been detached from it."""
    binding = _binding.binding_of(endpoint)
    return binding is not None and binding.find() is not None


_catching = _Catching()


def current() -> Twin:
    """Returns the twin of the innermost :func:`mock`, for decorated tests that advance its clock or inject faults.

    Raises RuntimeError outside of one.
    """
    twin = _catching.twin()
    if twin is None:
        raise RuntimeError("dynatwin.current() was called outside of dynatwin.mock")
    return twin


class Mock:
    """Intercepts every DynamoDB client of the process while it is active; created by :func:`mock`."""

    def __init__(self, twin: Callable[[], Twin], joins: bool = False) -> None:
        self._new = twin
        self._joins = joins
        self._entered: list[_Active] = []

    def _copy(self) -> Mock:
        """Returns a separate mock: decorated functions may run in several threads, or recursively."""
        return Mock(self._new, self._joins)

    def start(self) -> Twin:
        """Starts to intercept clients; returns the twin that answers them."""
        self._entered.append(_catching.begin(self._new, self._joins))
        return self._entered[-1].twin

    def stop(self) -> None:
        """Ends the latest :meth:`start`."""
        if not self._entered:
            raise RuntimeError("stop() was called without start()")
        _catching.end(self._entered.pop())

    def __enter__(self) -> Twin:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._entered:
            announce(self._entered[-1].twin, error)
        self.stop()

    def __call__(self, target: F) -> F:
        """Decorates a function, an async function, a generator (such as a pytest fixture), or a test class."""
        decorated: Any
        if isinstance(target, type):
            decorated = _decorate_class(self, target)
        elif inspect.isasyncgenfunction(target):
            decorated = _async_generator(self, target)
        elif inspect.iscoroutinefunction(target):
            decorated = _coroutine(self, target)
        elif inspect.isgeneratorfunction(target):
            decorated = _generator(self, target)
        elif callable(target) and not isinstance(target, staticmethod) and not _is_fixture(target):
            decorated = _function(self, target)
        else:
            raise TypeError(
                f"dynatwin.mock decorates functions and classes, but not {target!r}. "
                "Put @pytest.fixture and @staticmethod above @dynatwin.mock."
            )
        return decorated  # type: ignore[no-any-return]


@overload
def mock(target: F, /) -> F: ...
@overload
def mock(
    *,
    seed: int | None = None,
    conditions: ConditionsOption = "calm",
    clock: ClockOption = "now",
    watch: bool = False,
    buckets: str | os.PathLike[str] | None = None,
    twin: Twin | None = None,
) -> Mock: ...
def mock(
    target: F | None = None,
    /,
    *,
    seed: int | None = None,
    conditions: ConditionsOption = "calm",
    clock: ClockOption = "now",
    watch: bool = False,
    buckets: str | os.PathLike[str] | None = None,
    twin: Twin | None = None,
) -> F | Mock:
    """Intercepts every DynamoDB client of the process: those created inside, and those created before.

    As a decorator, with or without arguments, or as a context manager. Each decorated function, and each test of a
    decorated class, has a fresh twin, unless a `twin` is given; the other arguments are those of :class:`Twin`. Without
    arguments, a mock inside of another one shares its twin, for example that of a fixture. Clients need neither
    credentials nor a region, and all access keys share one set of tables. :func:`current` returns the twin.

    >>> import boto3, dynatwin
    >>> with dynatwin.mock() as twin:
    ...     boto3.client("dynamodb").list_tables()["TableNames"]
    []
    """

    def new() -> Twin:
        if twin is not None:
            return twin
        return Twin(seed, conditions=conditions, clock=clock, watch=watch, buckets=buckets)

    is_plain = (seed, conditions, clock, watch, buckets, twin) == (None, "calm", "now", False, None, None)
    made = Mock(new, joins=is_plain)
    return made if target is None else made(target)


def _is_fixture(target: object) -> bool:
    """Returns whether this is what ``@pytest.fixture`` returns, which pytest would not find inside of a function."""
    return type(target).__module__.startswith("_pytest.")


def _function(mock: Mock, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def mocked(*args: Any, **kwargs: Any) -> Any:
        with mock._copy():
            return function(*args, **kwargs)

    return mocked


def _coroutine(mock: Mock, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def mocked(*args: Any, **kwargs: Any) -> Any:
        with mock._copy():
            return await function(*args, **kwargs)

    return mocked


def _generator(mock: Mock, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def mocked(*args: Any, **kwargs: Any) -> Any:
        with mock._copy():
            return (yield from function(*args, **kwargs))

    return mocked


def _async_generator(mock: Mock, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def mocked(*args: Any, **kwargs: Any) -> Any:
        with mock._copy():
            async for each in function(*args, **kwargs):
                yield each

    return mocked


def _decorate_class(mock: Mock, target: type) -> type:
    import unittest

    if issubclass(target, unittest.TestCase):
        return _decorate_test_case(mock, target)
    return _decorate_plain_class(mock, target)


def _decorate_test_case(mock: Mock, target: type[unittest.TestCase]) -> type:
    """Gives each test, including its ``setUp``, a fresh twin. With a ``setUpClass``, the tests share its twin."""
    run: Any = target.run
    if "setUpClass" not in vars(target):

        @functools.wraps(run)
        def mocked(self: Any, *args: Any, **kwargs: Any) -> Any:
            with mock._copy():
                return run(self, *args, **kwargs)

        setattr(target, "run", mocked)
        return target

    set_up = vars(target)["setUpClass"].__func__

    def set_up_class(cls: Any) -> None:
        own = mock._copy()
        own.start()
        cls.addClassCleanup(own.stop)
        set_up(cls)

    setattr(target, "setUpClass", classmethod(functools.wraps(set_up)(set_up_class)))
    return target


def _decorate_plain_class(mock: Mock, target: type) -> type:
    """Wraps a test as pytest runs it, from ``setup_method`` to ``teardown_method``, and a test that is called without
    them."""
    set_up = getattr(target, "setup_method", None)
    tear_down = getattr(target, "teardown_method", None)

    def setup_method(self: Any, method: Any = None) -> None:
        self._dynatwin_mock = mock._copy()
        self._dynatwin_mock.start()
        if set_up is not None:
            _with_as_many(set_up, self, method)

    def teardown_method(self: Any, method: Any = None) -> None:
        try:
            if tear_down is not None:
                _with_as_many(tear_down, self, method)
        finally:
            self.__dict__.pop("_dynatwin_mock").stop()

    for name, member in list(vars(target).items()):
        if name.startswith("test") and inspect.isfunction(member):
            setattr(target, name, _unless_set_up(mock, member))
    setattr(target, "setup_method", setup_method)
    setattr(target, "teardown_method", teardown_method)
    return target


def _with_as_many(method: Callable[..., Any], self: Any, argument: Any) -> None:
    """Calls ``setup_method``, with the tested method if it accepts one."""
    takes = len(inspect.signature(method).parameters) > 1
    method(self, argument) if takes else method(self)


def _unless_set_up(mock: Mock, function: Callable[..., Any]) -> Callable[..., Any]:
    mocked = mock(function)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def async_test(self: Any, *args: Any, **kwargs: Any) -> Any:
            chosen = function if "_dynatwin_mock" in self.__dict__ else mocked
            return await chosen(self, *args, **kwargs)

        return async_test

    @functools.wraps(function)
    def test(self: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = function if "_dynatwin_mock" in self.__dict__ else mocked
        return chosen(self, *args, **kwargs)

    return test
