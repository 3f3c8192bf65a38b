"""What autoscalers did over time, and which rebalances they caused."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from reports.analysis.runs.scaling_history import (
    ScalingHistory,
    changes_grid,
    history_sentence,
    reasons_grid,
    scaling_histories,
    section_sentence,
    steps_grid,
)
from tests.reports.sample_runs import MINUTE_MS, four_assignors
from tests.reports.sample_scaling import STEPS, scaled_runs, step


def test_runs_without_autoscaler_have_no_history() -> None:
    assert scaling_histories(four_assignors()) == []


def test_rounds_are_the_autoscalers_or_others() -> None:
    eager, calm = scaling_histories(scaled_runs())
    assert [(at_ms // MINUTE_MS, number) for at_ms, number, _ in eager.caused] == [(6, 2), (11, 3), (45, 5)]
    assert [at_ms // MINUTE_MS for at_ms in eager.others] == [21]
    assert (calm.caused, len(calm.others), calm.index) == ((), 4, 1)
    assert [eager.rounds_of(change) for change in eager.changes] == [[2], [3], [5], [5], [], [], [], []]


def test_sentences_have_the_figures() -> None:
    tables = scaled_runs()
    eager, calm = scaling_histories(tables)
    assert history_sentence(eager) == (
        "Scales 5 times up and 3 times down, between 2 and 6 pods; it caused 3 of 4 rebalances after the first. "
        "Largest lag that it saw: 12,000 records."
    )
    assert history_sentence(calm) == "It never changed the number of pods of shop."
    rule = "more than 3 changes of direction within an hour"
    assert section_sentence(tables, [eager, calm]) == f"The autoscaler thrashes with eager ({rule})."
    assert section_sentence({**tables, "scaling": tables["scaling"].slice(10)}, [calm]) == (
        f"No autoscaler thrashes ({rule})."
    )
    assert section_sentence(tables, []) == ""


def test_first_rebalance_of_a_group_that_is_scaled_from_zero_is_not_counted() -> None:
    tables = scaled_runs()
    started = [{**row, "round": 1} for row in tables["scaled_rounds"].slice(0, 1).to_pylist()]
    scaled = pa.Table.from_pylist([*started, *tables["scaled_rounds"].to_pylist()], tables["scaled_rounds"].schema)
    eager, _ = scaling_histories({**tables, "scaled_rounds": scaled})
    assert eager.rounds_of(eager.changes[0]) == [1, 2]
    assert "it caused 3 of 4 rebalances after the first." in history_sentence(eager)


def test_tables_have_each_change_with_its_reason_and_rebalances() -> None:
    eager, _ = scaling_histories(scaled_runs())
    title, cells = changes_grid(eager).lines[0]
    assert (title, [cell.text for cell in cells]) == (
        "0:05:00",
        ["2 → 4", "9,000", "2,000", "9", "2", "limited by the scaling policies", "2"],
    )
    assert len(steps_grid(eager).lines) == len(STEPS["eager"])
    reasons = {title: [cell.value for cell in cells] for title, cells in reasons_grid(eager).lines}
    assert reasons["held by the stabilization window"] == [0, 2]
    assert reasons["lag"] == [3, 1]


@pytest.mark.parametrize("seed", range(20))
def test_held_times_are_those_in_which_other_pods_are_set_than_the_lag_asks_for(seed: int) -> None:
    rng = random.Random(seed)
    minutes = sorted(rng.sample(range(100), 30))
    reasons = ("lag", "stabilized", "limited by the scaling policies")
    steps = [step(at, 2, rng.randint(1, 3), 1, rng.randint(1, 3), reason=rng.choice(reasons)) for at in minutes]
    history = ScalingHistory("a", 0, "shop", tuple(steps), 1, (), (), 100 * MINUTE_MS)
    holds = list(history.holds())
    for minute in range(100):
        at_ms = minute * MINUTE_MS
        before = [row for row in steps if row["at_ms"] <= at_ms]
        is_held = bool(before) and before[-1]["recommended"] != before[-1]["replicas"]
        assert [hold.reason for hold in holds if hold.start_ms <= at_ms < hold.end_ms] == (
            [before[-1]["reason"]] if is_held else []
        )
    assert all(a.end_ms < b.start_ms or a.reason != b.reason for a, b in pairwise(holds))
