"""Placement programmes in the LP format of lp_solve.

Source: the LP-format of lp_solve 5.5 (objective `max: …;`, constraints that end in semicolons, sections `bin` and
`int`), and the names of variables in the README of killerwhile/kafka-assignment-optimizer: `t1b19p6_l` is topic 1 at
broker 19, partition 6, as a leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from assignors.columns import IntArray
from assignors.integer_programme import Programme
from assignors.replicas.exact.question import Question
from assignors.replicas.programmes.placement import PlacementProgramme


def write(question: Question, placement: PlacementProgramme, suffixes: Sequence[str]) -> str:
    """The programme over all cells.

    Args:
        question: says what partitions and brokers are called.
        placement: the programme.
        suffixes: what the name of a variable ends in, by role.
    """
    cells = placement.all_cells()
    programme = placement.programme(cells)
    names = _names(question, cells.partition, cells.broker, suffixes)
    return "".join(f"{line}\n" for line in _lines(question, placement, programme, names))


def _names(question: Question, partition: IntArray, broker: IntArray, suffixes: Sequence[str]) -> list[str]:
    state = question.told.state
    topics, partitions = (state.topic[partition] + 1).tolist(), state.partition[partition].tolist()
    brokers = state.ids[question.brokers[broker]].tolist()
    cells = [f"t{t}b{b}p{p}" for t, b, p in zip(topics, brokers, partitions, strict=True)]
    return [cell + suffix for suffix in suffixes for cell in cells]


def _lines(
    question: Question, placement: PlacementProgramme, programme: Programme, names: Sequence[str]
) -> Iterator[str]:
    for number, topic in enumerate(question.told.state.topics, start=1):
        yield f"// t{number} is {topic}"
    yield "// What is there, by what it is worth that it stays"
    yield f"max: {_objective(programme, names)};"
    titles = dict(_titles(placement))
    starts = np.searchsorted(programme.row, np.arange(len(programme.lower) + 1)).tolist()
    for row, (start, end) in enumerate(pairwise(starts)):
        if row in titles:
            yield f"// {titles[row]}"
        if start < end:
            columns, sizes = programme.column[start:end].tolist(), programme.coefficient[start:end].tolist()
            terms = [
                names[i] if size == 1 else f"{size:.12g} {names[i]}" for i, size in zip(columns, sizes, strict=True)
            ]
            yield from _constraint(row, terms, float(programme.lower[row]), float(programme.upper[row]))
    yield "// All variables are binary"
    yield "bin"
    yield f"{', '.join(names)};"


def _objective(programme: Programme, names: Sequence[str]) -> str:
    valued = np.flatnonzero(programme.objective).tolist()
    return " + ".join(f"{programme.objective[i]:.12g} {names[i]}" for i in valued)


def _titles(placement: PlacementProgramme) -> Iterator[tuple[int, str]]:
    row = 0
    for limit in placement.limits:
        yield row, f"{limit.what.capitalize()} of every {limit.group.value}"
        row += len(limit.lower)
    yield row, "No broker leads a partition and follows, too"


def _constraint(row: int, terms: Sequence[str], lower: float, upper: float) -> Iterator[str]:
    """A row of one variable has a label, without which lp_solve takes it for a bound, and forgets it at `bin`."""
    total = " + ".join(terms)
    labels = (f"most{row}: ", f"least{row}: ") if len(terms) == 1 else ("", "")
    if lower == upper:
        yield f"{labels[0]}{total} = {upper:.12g};"
        return
    yield f"{labels[0]}{total} <= {upper:.12g};"
    if lower > 0:
        yield f"{labels[1]}{total} >= {lower:.12g};"
