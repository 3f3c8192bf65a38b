"""The comparison of the preview of warm-ups with Kafka 4.4 is current; one shipped scenario is simulated again."""

from __future__ import annotations

import pytest

from tools.warmup_preview import MARK, PAGE, STANDBYS, streams_scenarios, table_rows, with_standbys

pytestmark = pytest.mark.answers


def test_every_shipped_streams_group_is_compared() -> None:
    rows = PAGE.read_text(encoding="utf-8").partition(MARK)[2].splitlines()
    compared = [row.split(" | ")[0].strip("| ") for row in rows if row.startswith("| ")][1:]
    assert compared == [scenario.name for scenario in streams_scenarios() for _ in range(2 * len(STANDBYS))]


def test_rows_of_a_scenario_are_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    [scenario] = [scenario for scenario in streams_scenarios() if scenario.name == "stateful-imbalance"]
    for row in table_rows(with_standbys(scenario, 1), 1):
        assert row in text, "run `python -m tools.warmup_preview`"
