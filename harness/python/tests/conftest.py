"""Helpers of the tests. They run against the installed wheel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynatwin import Twin

pytest_plugins = ["pytester"]


@pytest.fixture
def twin() -> Iterator[Twin]:
    """A twin on a settable clock, with a table ``Orders``."""
    with Twin(seed=7) as twin:
        twin.create_table("Orders", "id")
        yield twin
