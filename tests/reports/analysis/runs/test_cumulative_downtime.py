"""Cumulative downtime over time: exact, ascending, and equal to the downtime of the run at its end."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from reports.analysis.runs.answer import cumulative_downtime, evenly_spaced
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import tables

KEY = {"scenario": "rack_outage", "assignor": "sticky", "seed": 7}
STATES = ("unassigned", "assigned", "restoring", "running", "revoked", "blocked")
START_MS, END_MS = 50, 1_000


def random_run(seed: int) -> tuple[dict[str, pa.Table], dict[str, list[tuple[int, str]]]]:
    """Return a run with random task states, and the states of each task."""
    random = Random(seed)
    states = {
        f"0_{task}": sorted((random.randrange(END_MS), random.choice(STATES)) for _ in range(random.randrange(8)))
        for task in range(1 + random.randrange(5))
    }
    states["0_0"] = states["0_0"] or [(START_MS, "running")]
    rows = [{**KEY, "at_ms": at_ms, "task": task, "state": state} for task in states for at_ms, state in states[task]]
    rows.sort(key=lambda row: row["at_ms"])
    middle = random.randrange(START_MS, END_MS)
    rounds = [{"at_ms": START_MS, "until_ms": middle}, {"round": 2, "at_ms": middle, "until_ms": END_MS}]
    result = tables(rounds=rounds, tasks=[{"task": task} for task in states])
    return {**result, "task_states": pa.Table.from_pylist(rows, schema=SCHEMAS["task_states"])}, states


def down_until(states: dict[str, list[tuple[int, str]]], until_ms: int) -> int:
    """Return the downtime by looking at each millisecond."""
    total = 0
    for changes in states.values():
        for now in range(START_MS, until_ms):
            current = [state for at_ms, state in changes if at_ms <= now]
            total += not current or current[-1] != "running"
    return total


@pytest.mark.parametrize("seed", range(30))
def test_curve_equals_a_count_of_milliseconds(seed: int) -> None:
    result, states = random_run(seed)
    at_ms = (0, START_MS, 77, 400, 999, END_MS)
    [curve] = cumulative_downtime(result, at_ms)
    assert curve.values_ms == tuple(float(down_until(states, time)) for time in at_ms)


def test_curve_is_median_of_seeds_with_their_range() -> None:
    parts = []
    for seed in (1, 2, 3):
        result, _ = random_run(seed)
        column = {name: pa.array([seed] * len(table), pa.int64()) for name, table in result.items()}
        parts.append(
            {
                name: table.set_column(table.column_names.index("seed"), "seed", column[name])
                for name, table in result.items()
                if "seed" in table.column_names
            }
        )
    merged = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    at_ms = evenly_spaced(END_MS, 11)
    [curve] = cumulative_downtime(merged, at_ms)
    singles = [cumulative_downtime(part, at_ms)[0].values_ms for part in parts]
    assert curve.values_ms == tuple(sorted(values)[1] for values in zip(*singles, strict=True))
    assert curve.minimums_ms == tuple(map(min, zip(*singles, strict=True)))
    assert curve.maximums_ms == tuple(map(max, zip(*singles, strict=True)))


def test_run_without_states_has_no_curve() -> None:
    [curve] = cumulative_downtime(tables(), (0, 1))
    assert curve.values_ms == ()
