"""The figures of a run as rows of its tables, and the comparison of two runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from assignors.model.assignment import TaskAssignor
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.world.world import World
from tests.simulator.random_worlds import DURATION_MS

Row = dict[str, Any]
Figures = dict[str, list[Row]]

ROUNDING_MS = 2
"""The allowed difference of times: changes of rates take effect at the next whole millisecond."""

TEXTS = ("events", "rounds.reason", "runs.cause", "runs.slowest_event", "convergence.event")
"""The tables and columns whose texts contain names."""

EVENT_NUMBERS = ("events", "convergence.number", "convergence.cut_short_by")
"""The tables and columns that depend on the numbers of events."""


def run(world: World, assignor: TaskAssignor, observe: Callable[[Any], None] | None = None) -> Trace:
    """Simulate a world and return its trace, which must not have failed."""
    trace = simulate(world, assignor, options=RunOptions(observe=observe))
    assert trace.failure is None
    return trace


def figures_of(trace: Trace) -> Figures:
    """Return the rows of all result tables."""
    return {name: table.to_pylist() for name, table in tabulate(trace, "some", 1).items()}


def figures(world: World, assignor: TaskAssignor) -> Figures:
    """Simulate a world and return the rows of all result tables."""
    return figures_of(run(world, assignor))


def check_same(
    actual: Figures, expected: Figures, *, but: Collection[str] = (), exact: bool = True, in_order: bool = True
) -> None:
    """Check that two runs have the same figures.

    Args:
        actual: figures of one run.
        expected: figures of the other run.
        but: tables, and columns as `table.column`, that may differ.
        exact: whether times agree to the millisecond; otherwise to `ROUNDING_MS` for each rebalance and task, and bytes
            to what is that part of the run.
        in_order: whether rows are in the same order.
    """
    slack = 0.0 if exact else ROUNDING_MS * (1 + len(expected["tasks"])) * (1 + len(expected["rounds"]))
    for name, rows in expected.items():
        if name in but:
            continue
        ignored = {column for column in (rows[0] if rows else ()) if f"{name}.{column}" in but}
        pairs = (_ordered(actual[name], ignored), _ordered(rows, ignored)) if not in_order else (actual[name], rows)
        assert len(pairs[0]) == len(pairs[1]), (
            name,
            [[row for row in a if row not in b] for a, b in (pairs, pairs[::-1])],
        )
        for index, (actual_row, expected_row) in enumerate(zip(*pairs, strict=True)):
            for column, value in expected_row.items():
                if column not in ignored:
                    # What flows in the time by which others differ.
                    share = slack / DURATION_MS if "bytes" in column or "usd" in column else 0.0
                    difference = name, index, column, actual_row[column], value
                    assert _equal(actual_row[column], value, slack, share), difference


def total(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    """Return the sum of a column."""
    return math.fsum(row[column] for row in rows)


def _ordered(rows: Sequence[Row], ignored: Collection[str]) -> list[Row]:
    """Sort rows by their columns without fractions."""

    def key(row: Row) -> list[tuple[bool, Any]]:
        values = [value for column, value in row.items() if column not in ignored and not isinstance(value, float)]
        return [(value is not None, str(value)) for value in values]

    return sorted(rows, key=key)


def _equal(actual: Any, expected: Any, slack: float, share: float) -> bool:
    if isinstance(actual, bool | str) or isinstance(expected, bool | str) or actual is None or expected is None:
        return bool(actual == expected)
    if isinstance(actual, int) and isinstance(expected, int):
        return abs(actual - expected) <= max(slack, 1e-9 * abs(expected) if slack else 0.0)
    return math.isclose(actual, expected, rel_tol=max(1e-9, share), abs_tol=max(1e-6, slack))
