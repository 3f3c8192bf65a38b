"""Placement programmes in the LP format of lp_solve.

Source: the LP-format of lp_solve 5.5 (objective `max: …;`, constraints that end in semicolons, sections `bin` and
`int`), and the names of variables in the README of killerwhile/kafka-assignment-optimizer: `t1b19p6_l` is topic 1 at
broker 19, partition 6, as a leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from assignors.integer_program import LinearProgram
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.programs.placement_program import LimitScope, RoleProgram


def to_lp_text(question: NormalizedProblem, placement: RoleProgram, suffixes: Sequence[str]) -> str:
    """The programme over all cells, with every constraint, even one that others imply.

    Args:
        question: says what partitions and brokers are called.
        placement: the programme.
        suffixes: what the name of a variable ends in, by role.
    """
    cells = placement.all_cells()
    programme = placement.programme(cells, is_full=True)
    names = _names(question, cells.partition, cells.broker, suffixes)
    return "".join(f"{line}\n" for line in _lines(question, placement, programme, names))


def _names(question: NormalizedProblem, partition: IntArray, broker: IntArray, suffixes: Sequence[str]) -> list[str]:
    state = question.told.state
    topics, partitions = (state.topic[partition] + 1).tolist(), state.partition[partition].tolist()
    brokers = state.ids[question.brokers[broker]].tolist()
    cells = [f"t{t}b{b}p{p}" for t, b, p in zip(topics, brokers, partitions, strict=True)]
    return [cell + suffix for suffix in suffixes for cell in cells]


def _lines(
    question: NormalizedProblem, placement: RoleProgram, programme: LinearProgram, names: Sequence[str]
) -> Iterator[str]:
    for number, topic in enumerate(question.told.state.topics, start=1):
        yield f"// t{number} is {topic}"
    yield "// What is there, by what it is worth that it stays"
    yield f"max: {_objective(programme, names)};"
    titles, both = dict(_titles(placement)), _with_both_ends(placement)
    starts = np.searchsorted(programme.row, np.arange(len(programme.lower) + 1)).tolist()
    for row, (start, end) in enumerate(pairwise(starts)):
        if row in titles:
            yield f"// {titles[row]}"
        if start < end:
            columns, sizes = programme.column[start:end].tolist(), programme.coefficient[start:end].tolist()
            total = _sum(zip(sizes, (names[i] for i in columns), strict=True))
            least, most = float(programme.lower[row]), float(programme.upper[row])
            yield from _constraint(row, total, least, most, is_single=end - start == 1, is_both=row in both)
    yield "// All variables are binary"
    yield "bin"
    yield f"{', '.join(names)};"


def _objective(programme: LinearProgram, names: Sequence[str]) -> str:
    valued = np.flatnonzero(programme.objective).tolist()
    return " + ".join(f"{programme.objective[i]:.12g} {names[i]}" for i in valued)


def _titles(placement: RoleProgram) -> Iterator[tuple[int, str]]:
    row = 0
    for limit in placement.limits:
        yield row, f"{limit.what.capitalize()} of every {limit.group.value}"
        row += len(limit.lower)
    for own in placement.own:
        yield row, own.name
        row += 1
    yield row, "No broker leads a partition and follows, too"


def _with_both_ends(placement: RoleProgram) -> frozenset[int]:
    """Return the rows of brokers and racks, whose lower end is written even if it is zero."""
    row, rows = 0, set[int]()
    for limit in placement.limits:
        if limit.group in (LimitScope.BROKER, LimitScope.RACK):
            rows.update(range(row, row + len(limit.lower)))
        row += len(limit.lower)
    return frozenset(rows)


def _sum(terms: Iterable[tuple[float, str]]) -> str:
    """Return a sum as text; a factor of one is left out."""
    parts = []
    for size, name in terms:
        sign = "-" if size < 0 else "+"
        parts.append(f"{sign} {name}" if abs(size) == 1 else f"{sign} {abs(size):.12g} {name}")
    return " ".join(parts).removeprefix("+ ")


def _constraint(row: int, total: str, lower: float, upper: float, *, is_single: bool, is_both: bool) -> Iterator[str]:
    """A row of one variable has a label, without which lp_solve takes it for a bound, and forgets it at `bin`."""
    labels = (f"most{row}: ", f"least{row}: ") if is_single else ("", "")
    if lower == upper:
        yield f"{labels[0]}{total} = {upper:.12g};"
        return
    if np.isfinite(upper):
        yield f"{labels[0]}{total} <= {upper:.12g};"
    if np.isfinite(lower) and (lower != 0 or is_both or not np.isfinite(upper)):
        yield f"{labels[1]}{total} >= {lower:.12g};"
