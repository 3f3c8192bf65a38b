"""Placement programs in the LP format of lp_solve.

Source: the LP format of lp_solve 5.5 (objective `max: …;`, constraints that end in semicolons, sections `bin` and
`int`), and the variable names in the README of killerwhile/kafka-assignment-optimizer: `t1b19p6_l` is topic 1 on
broker 19, partition 6, as leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from assignors.integer_program import LinearProgram
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.programs.placement_program import LimitScope, RoleProgram


def to_lp_text(problem: NormalizedProblem, program: RoleProgram, suffixes: Sequence[str]) -> str:
    """Return the program over all cells as text, including constraints that others imply.

    `problem`: the names of partitions and brokers; `suffixes`: the suffix of variable names, by role.
    """
    cells = program.all_cells()
    linear_program = program.linear_program(cells, is_full=True)
    names = _names(problem, cells.partition, cells.broker, suffixes)
    return "".join(f"{line}\n" for line in _lines(problem, program, linear_program, names))


def _names(problem: NormalizedProblem, partition: IntArray, broker: IntArray, suffixes: Sequence[str]) -> list[str]:
    state = problem.canonical.state
    topics, partitions = (state.topic[partition] + 1).tolist(), state.partition[partition].tolist()
    brokers = state.ids[problem.brokers[broker]].tolist()
    cells = [f"t{t}b{b}p{p}" for t, b, p in zip(topics, brokers, partitions, strict=True)]
    return [cell + suffix for suffix in suffixes for cell in cells]


def _lines(
    problem: NormalizedProblem, program: RoleProgram, linear_program: LinearProgram, names: Sequence[str]
) -> Iterator[str]:
    for number, topic in enumerate(problem.canonical.state.topics, start=1):
        yield f"// t{number} is {topic}"
    yield "// Weight of kept replicas"
    yield f"max: {_objective(linear_program, names)};"
    titles, rows_with_both_limits = dict(_titles(program)), _rows_with_both_limits(program)
    starts = np.searchsorted(linear_program.row, np.arange(len(linear_program.lower) + 1)).tolist()
    for row, (start, end) in enumerate(pairwise(starts)):
        if row in titles:
            yield f"// {titles[row]}"
        if start < end:
            columns, sizes = linear_program.column[start:end].tolist(), linear_program.coefficient[start:end].tolist()
            total = _sum(zip(sizes, (names[i] for i in columns), strict=True))
            least, most = float(linear_program.lower[row]), float(linear_program.upper[row])
            yield from _constraint(
                row, total, least, most, is_single=end - start == 1, writes_both_limits=row in rows_with_both_limits
            )
    yield "// All variables are binary"
    yield "bin"
    yield f"{', '.join(names)};"


def _objective(linear_program: LinearProgram, names: Sequence[str]) -> str:
    nonzero = np.flatnonzero(linear_program.objective).tolist()
    return " + ".join(f"{linear_program.objective[i]:.12g} {names[i]}" for i in nonzero)


def _titles(program: RoleProgram) -> Iterator[tuple[int, str]]:
    row = 0
    for limit in program.limits:
        yield row, f"{limit.counted.capitalize()} per {limit.scope.value}"
        row += len(limit.lower)
    for user_row in program.user_rows:
        yield row, user_row.name
        row += 1
    yield row, "A broker has at most one role per partition"


def _rows_with_both_limits(program: RoleProgram) -> frozenset[int]:
    """Return the rows of brokers and racks, whose lower limit is written even if it is 0."""
    row, rows = 0, set[int]()
    for limit in program.limits:
        if limit.scope in (LimitScope.BROKER, LimitScope.RACK):
            rows.update(range(row, row + len(limit.lower)))
        row += len(limit.lower)
    return frozenset(rows)


def _sum(terms: Iterable[tuple[float, str]]) -> str:
    """Return a sum as text; a factor of 1 is omitted."""
    parts = []
    for size, name in terms:
        sign = "-" if size < 0 else "+"
        parts.append(f"{sign} {name}" if abs(size) == 1 else f"{sign} {abs(size):.12g} {name}")
    return " ".join(parts).removeprefix("+ ")


def _constraint(
    row: int, total: str, lower: float, upper: float, *, is_single: bool, writes_both_limits: bool
) -> Iterator[str]:
    """Yield the lines of a constraint.

    A row with a single variable needs a label: without one, lp_solve reads it as a bound, which `bin` then overrides.
    """
    labels = (f"most{row}: ", f"least{row}: ") if is_single else ("", "")
    if lower == upper:
        yield f"{labels[0]}{total} = {upper:.12g};"
        return
    if np.isfinite(upper):
        yield f"{labels[0]}{total} <= {upper:.12g};"
    if np.isfinite(lower) and (lower != 0 or writes_both_limits or not np.isfinite(upper)):
        yield f"{labels[1]}{total} >= {lower:.12g};"
