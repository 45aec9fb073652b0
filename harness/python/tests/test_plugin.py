"""The pytest plugin."""

from __future__ import annotations

import pytest

ALONE = ("-p", "no:cacheprovider", "-p", "no:asyncio")

FAILING = """
    def test_fails(dynatwin, dynatwin_client):
        dynatwin.create_table("Orders", "id")
        for number in range(25):
            dynatwin_client.put_item(TableName="Orders", Item={"id": {"S": str(number)}})
        assert False

    def test_without_a_twin():
        assert False
"""

ISOLATED = """
    import boto3, pytest

    @pytest.mark.parametrize("number", range(12))
    def test_isolated(dynatwin, dynatwin_table, dynatwin_client, number):
        table = dynatwin_table("Orders", "id", ("number", "N"), ttl="expiresAt")
        table.put_item(Item={"id": "a", "number": number})
        assert dynatwin_client.scan(TableName="Orders")["Count"] == 1
        assert dynatwin_client.list_tables()["TableNames"] == dynatwin.tables() == ["Orders"]
        assert boto3.client("dynamodb").list_tables()["TableNames"] == ["Orders"]
        assert dynatwin.watched

    def test_callers(dynatwin, dynatwin_table):
        dynatwin_table("Orders", "id", region="eu-west-1", access_key="other").put_item(Item={"id": "a"})
        assert len(dynatwin.items("Orders", region="eu-west-1", access_key="other")) == 1
"""

TEMPLATE = """
    import pytest

    @pytest.fixture(scope="session")
    def dynatwin_template(dynatwin_template):
        dynatwin_template.create_table("Orders", "id")
        for number in range(10):
            dynatwin_template.client().put_item(TableName="Orders", Item={"id": {"S": str(number)}})
        return dynatwin_template

    @pytest.mark.parametrize("number", range(3))
    def test_forks(dynatwin, dynatwin_client, number):
        dynatwin_client.put_item(TableName="Orders", Item={"id": {"S": "new"}})
        assert len(dynatwin.items("Orders")) == 11 and len(dynatwin.requests()) == 1
"""

OPTIONS = """
    def test_options(dynatwin):
        assert dynatwin.seed == 7
        assert dynatwin.conditions["stale_reads"] == 0.004
        assert dynatwin.clock.now().year == 2030
"""


def test_a_failing_test_prints_its_seed_and_latest_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess("--dynatwin-seed=7", *ALONE)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*- dynatwin -*",
            "seed 7: run the test again with --dynatwin-seed=7",
            "clock 20*",
            "the last 20 of 27 requests:",
            '#8 * PutItem Orders {"id": {"S": "5"}} -> 200',
            '#27 * PutItem Orders {"id": {"S": "24"}} -> 200',
        ]
    )
    assert result.stdout.str().count("- dynatwin -") == 1


def test_each_test_has_a_twin_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ISOLATED)
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=13)


def test_workers_of_xdist_share_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ISOLATED)
    pytester.runpytest_subprocess("-n", "3", *ALONE).assert_outcomes(passed=13)


def test_each_test_has_a_fork_of_the_template(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEMPLATE)
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=3)


def test_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(OPTIONS)
    given = ["--dynatwin-seed=7", "--dynatwin-conditions=aws", "--dynatwin-clock=2030-01-01T00:00:00Z"]
    pytester.runpytest_subprocess(*given, *ALONE).assert_outcomes(passed=1)
    refused = pytester.runpytest_subprocess("--dynatwin-seed=seven", *ALONE)
    refused.stdout.fnmatch_lines(["*dynatwin_seed is 'seven', but a seed must be a whole number.*"])
    pytester.makeini("[pytest]\ndynatwin_seed = 7\ndynatwin_conditions = aws\ndynatwin_clock = 2030-01-01T00:00:00Z\n")
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=1)


def test_the_plugin_loads_no_client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test(): import sys; assert 'dynatwin' in sys.modules and 'botocore' not in sys.modules")
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=1)
