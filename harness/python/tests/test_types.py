"""mypy --strict finds nothing in the package, and finds the mistakes of those who use it."""

from __future__ import annotations

from pathlib import Path

from mypy import api

SOUND = """
import asyncio
import dynatwin
from collections.abc import Iterator
from datetime import timedelta

import pytest

with dynatwin.Twin(seed=7, conditions={"base": "aws", "time_to_live": timedelta(hours=1)}) as twin:
    reveal_type(twin.client("dynamodb"))
    reveal_type(twin.client("dynamodbstreams"))
    reveal_type(twin.resource("dynamodb"))
    reveal_type(twin.attach(3))
    twin.create_table("Orders", "id", ("at", "N"), global_indexes={"by-date": ["date", ("at", "N")]})
    fault: dynatwin.Fault = twin.faults.add("throttle", operation="PutItem", first=2)
    twin.faults.add({"wait": 2.5})
    twin.conditions = "storm"

@dynatwin.mock
def one(number: int) -> str: return str(number)

@dynatwin.mock(seed=7)
async def two() -> int: return 1

@pytest.fixture
@dynatwin.mock
def three() -> Iterator[int]: yield 1

@dynatwin.mock
class Four: ...

with dynatwin.mock(clock="settable") as mocked:
    mocked.clock.advance(1)

reveal_type(one(1))
reveal_type(Four())
asyncio.run(two())
"""

MISTAKEN = """
import dynatwin
twin = dynatwin.Twin(sede=7)
twin.faults.add("trottle")
twin.conditions = {"index_lag": 1}
"""


def test_the_package_is_strictly_typed() -> None:
    config = Path(__file__).parent.parent / "pyproject.toml"
    printed, errors, code = api.run(["--config-file", str(config), "--no-incremental", "-p", "dynatwin"])
    assert code == 0, printed + errors


def test_users_are_typed(tmp_path: Path) -> None:
    (tmp_path / "sound.py").write_text(SOUND)
    printed, errors, code = api.run(["--strict", "--no-incremental", str(tmp_path / "sound.py")])
    assert code == 0, printed + errors
    revealed = [line.split('"')[1].rpartition(".")[2] for line in printed.splitlines() if "Revealed" in line]
    services = ["DynamoDBClient", "DynamoDBStreamsClient", "DynamoDBServiceResource"]
    assert revealed[:4] == [*services, "int"]
    assert revealed[4:] == ["str", "Four"]
    (tmp_path / "mistaken.py").write_text(MISTAKEN)
    printed, errors, code = api.run(["--strict", "--no-incremental", str(tmp_path / "mistaken.py")])
    assert printed.count("error:") == 3, printed + errors
