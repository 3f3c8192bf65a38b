"""docs/explanation/group.md states the rebalances of sticky assignors as the shipped scenario has them."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from simulator.world.disturbances import Join

pytestmark = pytest.mark.answers

TEXT = " ".join((Path(__file__).parents[2] / "docs" / "explanation" / "group.md").read_text(encoding="utf-8").split())
NAME = "sticky_without_rest"


@pytest.mark.slow
def test_rebalances_of_sticky_assignors_are_current() -> None:
    scenario = load(NAME)
    [scale_out] = {event.at_ms for event in scenario.world(1).disturbances if isinstance(event, Join)}
    withheld: dict[str, list[int]] = {}
    for row in run(scenario, explain=False, ranges=False).tables["rounds"].to_pylist():
        if row["requested_at_ms"] >= scale_out:
            withheld.setdefault(row["assignor"], []).append(row["withheld_tasks"])
    assert scenario.blueprint.duration_ms - scale_out == 4 * 60_000, "in the same four minutes"
    legacy, sticky = withheld["legacy_sticky"], withheld["sticky of KIP-924"]
    assert (
        f"`legacy_sticky` rebalances {len(legacy)} times, with {median(legacy):g} withheld tasks (median), "
        f"and `sticky_task_assignor` {len(sticky)} times, with {median(sticky):g}."
    ) in TEXT
    first, second, *others = withheld["high_availability"]
    assert f"it withholds {first} tasks in the first rebalance, {second} in the second, and none after that." in TEXT
    assert others
    assert not any(others)


def test_measurement_of_kafka_is_that_of_the_scenario() -> None:
    problem = load(NAME).problem
    assert problem is not None
    cause = " ".join(problem.cause.split())
    of_kafka = re.search(r"(\d+) rebalances in four minutes after the scale-out, with (\d+) withheld tasks each", cause)
    assert of_kafka is not None
    times, withheld = of_kafka.groups()
    assert f"rebalanced {times} times in four minutes" in TEXT
    assert f"with {withheld} withheld tasks per rebalance (median)" in TEXT
