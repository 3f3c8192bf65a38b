"""The figures of a run as rows of its tables, and the comparison of two runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from assignors.model.assignment import TaskAssignor
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.run import simulate
from simulator.world.world import World

Row = dict[str, Any]
Figures = dict[str, list[Row]]

ROUNDING_MS = 2
"""By how much a moment may differ: changes of rates take effect at the next whole millisecond."""

TEXTS = ("events", "rounds.reason", "runs.cause", "runs.slowest_event", "convergence.event")
"""The tables and columns with sentences that have names in them."""

EVENT_NUMBERS = ("events", "convergence.number", "convergence.cut_short_by")
"""What numbers the events of a scenario."""


def run(world: World, assignor: TaskAssignor, observe: Callable[[Any], None] | None = None) -> Trace:
    """Simulate a world and return its trace, which must not have failed."""
    trace = simulate(world, assignor) if observe is None else simulate(world, assignor, observe=observe)
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
        exact: whether times agree to the millisecond; otherwise to `ROUNDING_MS` for each rebalance and task.
        in_order: whether rows are in the same order.
    """
    slack = 0.0 if exact else ROUNDING_MS * (1 + len(expected["tasks"])) * (1 + len(expected["rounds"]))
    for name, rows in expected.items():
        if name in but:
            continue
        left = {column for column in (rows[0] if rows else ()) if f"{name}.{column}" in but}
        pairs = (_ordered(actual[name], left), _ordered(rows, left)) if not in_order else (actual[name], rows)
        assert len(pairs[0]) == len(pairs[1]), (
            name,
            [[row for row in a if row not in b] for a, b in (pairs, pairs[::-1])],
        )
        for place, (one, other) in enumerate(zip(*pairs, strict=True)):
            for column, value in other.items():
                if column not in left:
                    assert _equal(one[column], value, slack), (name, place, column, one[column], value)


def total(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    """Return the sum of a column."""
    return math.fsum(row[column] for row in rows)


def _ordered(rows: Sequence[Row], left: Collection[str]) -> list[Row]:
    """Sort rows by their columns without fractions."""

    def key(row: Row) -> list[tuple[bool, Any]]:
        kept = [value for column, value in row.items() if column not in left and not isinstance(value, float)]
        return [(value is not None, str(value)) for value in kept]

    return sorted(rows, key=key)


def _equal(one: Any, other: Any, slack: float) -> bool:
    if isinstance(one, bool | str) or isinstance(other, bool | str) or one is None or other is None:
        return bool(one == other)
    if isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= max(slack, 1e-9 * abs(other) if slack else 0.0)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=max(1e-6, slack))
