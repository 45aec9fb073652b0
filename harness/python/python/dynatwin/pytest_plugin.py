"""The pytest plugin: fixtures with a fresh twin for each test, and its seed and latest requests in the report of a failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pytest

from dynatwin import _binding, _boto
from dynatwin._mock import mock
from dynatwin._twin import Snapshot, Twin

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.service_resource import Table

_TWIN: pytest.StashKey[Twin] = pytest.StashKey()

# The state of each template. A cache instead of fixtures: pytest takes longer to look up a fixture than a twin to fork.
_snapshots: WeakKeyDictionary[Twin, Snapshot] = WeakKeyDictionary()

# How many requests the report of a failure shows.
_SHOWN = 20

_OPTIONS = {
    "seed": "seed of each test's twin; random unless given",
    "conditions": "conditions of each test's twin: calm, aws or storm",
    "clock": "clock of each test's twin: now, settable, system, or a moment",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--dynatwin-seed``, ``--dynatwin-conditions`` and ``--dynatwin-clock``, and settings of the same names."""
    group = parser.getgroup("dynatwin", "DynamoDB emulator")
    for name, described in _OPTIONS.items():
        group.addoption(f"--dynatwin-{name}", metavar=name.upper(), help=described)
        parser.addini(f"dynatwin_{name}", described)


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(f"--dynatwin-{name}") or config.getini(f"dynatwin_{name}") or None


@pytest.fixture(scope="session")
def dynatwin_template(pytestconfig: pytest.Config) -> Twin:
    """The twin of which each test has a fork. Override it to create tables and load data once::

    @pytest.fixture(scope="session")
    def dynatwin_template(dynatwin_template):
        dynatwin_template.create_table("Orders", "id")
        return dynatwin_template
    """
    seed = _option(pytestconfig, "seed")
    try:
        seed = None if seed is None else int(seed)
    except ValueError:
        raise pytest.UsageError(f"dynatwin_seed is {seed!r}, but a seed must be a whole number.") from None
    conditions: Any = _option(pytestconfig, "conditions") or "calm"
    clock = _option(pytestconfig, "clock") or "now"
    return Twin(seed, conditions=conditions, clock=clock)


@pytest.fixture
def dynatwin(request: pytest.FixtureRequest, dynatwin_template: Twin) -> Generator[Twin, None, None]:
    """A watched, fresh fork of ``dynatwin_template`` that answers every DynamoDB client during the test."""
    if dynatwin_template not in _snapshots:
        _snapshots[dynatwin_template] = dynatwin_template.snapshot()
    twin = _snapshots[dynatwin_template].fork()
    if _option(request.config, "clock") in (None, "now"):
        # The template's clock has stood still since the session began.
        present = datetime.fromtimestamp(time.time(), timezone.utc)
        twin.clock.set(max(present, twin.clock.now()))
    twin.watch()
    request.node.stash[_TWIN] = twin
    with mock(twin=twin):
        yield twin


class _Clients:
    """The clients and resources of the fixtures. They are created once, because that costs more than most tests, and
    answered by each test's own twin."""

    def __init__(self) -> None:
        self.twin: Twin | None = None
        self._made: dict[tuple[str, str, str], Any] = {}

    def get(self, kind: str, region: str = _binding.REGION, access_key: str = _binding.ACCESS_KEY) -> Any:
        wanted = (kind, region, access_key)
        if wanted not in self._made:
            options = {"region_name": region, "aws_access_key_id": access_key}
            self._made[wanted] = _boto.make(kind, "dynamodb", lambda: self.twin, options)
        return self._made[wanted]


_clients = _Clients()


@pytest.fixture
def dynatwin_client(dynatwin: Twin) -> DynamoDBClient:
    """A boto3 client of the test's twin."""
    _clients.twin = dynatwin
    client: DynamoDBClient = _clients.get("client")
    return client


@pytest.fixture
def dynatwin_table(dynatwin: Twin) -> Callable[..., Table]:
    """Creates tables: ``dynatwin_table("Orders", "customer", ("placedAt", "N"))`` returns a boto3 ``Table``.

    The arguments are those of :meth:`dynatwin.Twin.create_table`.
    """
    _clients.twin = dynatwin

    def create(name: str, *args: Any, **kwargs: Any) -> Table:
        dynatwin.create_table(name, *args, **kwargs)
        caller = {option: kwargs[option] for option in ("region", "access_key") if option in kwargs}
        table: Table = _clients.get("resource", **caller).Table(name)
        return table

    return create


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds the twin's seed and latest requests to the report of a failure."""
    outcome = yield
    report = outcome.get_result()
    twin = item.stash.get(_TWIN, None)
    if report.failed and twin is not None:
        report.sections.append(("dynatwin", _summary(twin)))


def _summary(twin: Twin) -> str:
    requests = twin.requests()
    lines = [f"seed {twin.seed}: run the test again with --dynatwin-seed={twin.seed}", f"clock {twin.clock.now().isoformat()}"]
    if len(requests) > _SHOWN:
        lines.append(f"the last {_SHOWN} of {len(requests)} requests:")
    return "\n".join([*lines, *map(str, requests[-_SHOWN:])])
