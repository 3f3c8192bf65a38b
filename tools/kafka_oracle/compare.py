"""Kafka's answers beside others, problem by problem, and what became of it by assignor and strategy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assignors.java.hash_order import CollectionOrder
from scenarios.problems import Problem, answer_differences, solve_problem
from tools.kafka_oracle.oracle import Oracle

Json = dict[str, Any]
ORDERS = (CollectionOrder.SORTED, CollectionOrder.PRODUCTION)
Candidate = Callable[[Json, CollectionOrder], Json | None]
"""Answers a problem in an order; None if it has nothing to say about it."""


@dataclass(slots=True)
class Tally:
    """What became of the problems of one assignor and strategy.

    Attributes:
        compared: how many problems were.
        agreed: how many answers were identical, by order; an exception of the same class is one.
        refused: how many of the problems Kafka answers with an exception.
        order_sensitive: how many Kafka answers differently in the two orders.
    """

    compared: int = 0
    agreed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, ORDERS), 0))
    refused: int = 0
    order_sensitive: int = 0

    def identical(self) -> bool:
        """Whether every answer was."""
        return all(agreed == self.compared for agreed in self.agreed.values())

    def add(self, other: Tally) -> None:
        """Count the problems of another one as well."""
        self.compared += other.compared
        self.refused += other.refused
        self.order_sensitive += other.order_sensitive
        for order, agreed in other.agreed.items():
            self.agreed[order] += agreed


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A problem that was answered otherwise than Kafka does."""

    problem: Json
    expected: Json
    expected_hash_order: Json
    found: list[str]

    def line(self) -> str:
        """The line of a problem file that `assignor-sim assign --check` takes; what differed is told along."""
        return json.dumps(
            {
                "problem": self.problem,
                "expected": self.expected,
                "expected_hash_order": self.expected_hash_order,
                "found": self.found,
            }
        )


Tallies = dict[tuple[str, str], Tally]


def our_answer(problem: Json, order: CollectionOrder) -> Json:
    """What this project answers."""
    return solve_problem(Problem(0, problem), "generated", order=order)


def recorded_answers(problems: Iterable[Problem]) -> Candidate:
    """What the lines of a problem file expect; those that expect nothing have nothing to say."""
    by_problem = {id(found.problem): found for found in problems}

    def look_up(problem: Json, order: CollectionOrder) -> Json | None:
        expected = by_problem[id(problem)].expected_answer(order)
        return None if expected is None else dict(expected)

    return look_up


def compare(oracle: Oracle, problems: Iterable[Json], candidate: Candidate, tallies: Tallies) -> Iterator[Disagreement]:
    """Put the problems to Kafka and to a candidate, count in `tallies`, and tell where they disagree."""
    for problem, kafkas in oracle.ask(problems):
        given = {order: candidate(problem, order) for order in ORDERS}
        if None in given.values():
            continue
        tally = tallies.setdefault(Problem(0, problem).kind, Tally())
        tally.compared += 1
        tally.refused += kafkas["sorted"]["error"] is not None
        tally.order_sensitive += bool(answer_differences(kafkas["sorted"], kafkas["production"]))
        found: list[str] = []
        for order in ORDERS:
            wrong = answer_differences(kafkas[order], given[order] or {})
            tally.agreed[order] += not wrong
            found += [f"{order}: {text}" for text in wrong]
        if found:
            yield Disagreement(problem, kafkas["sorted"], kafkas["production"], found)


def total(tallies: Tallies) -> Tally:
    """All of them together."""
    everything = Tally()
    for tally in tallies.values():
        everything.add(tally)
    return everything


def by_assignor(tallies: Tallies) -> dict[str, Tally]:
    """The strategies of each assignor together."""
    found: dict[str, Tally] = {}
    for (assignor, _), tally in sorted(tallies.items()):
        found.setdefault(assignor, Tally()).add(tally)
    return found


def render(tallies: Tallies) -> str:
    """A table for the terminal."""
    head = ("assignor", "strategy", "compared", *(f"agreed {order}" for order in ORDERS), "refused", "order-sensitive")
    rows = [(*kind, *_numbers(tally)) for kind, tally in sorted(tallies.items())]
    rows.append(("all", "", *_numbers(total(tallies))))
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        named = [cell.ljust(width) for cell, width in zip(cells[:2], widths, strict=False)]
        counted = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
        return "  ".join([*named, *counted]).rstrip()

    return "\n".join([line(head), *map(line, rows)])


def _numbers(tally: Tally) -> tuple[str, ...]:
    agreed = [str(tally.agreed[order]) for order in ORDERS]
    return (str(tally.compared), *agreed, str(tally.refused), str(tally.order_sensitive))


def save(disagreements: Iterable[Disagreement], path: Path) -> int:
    """Write each disagreement as a line of a problem file, at once; returns how many, and leaves no file if none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    saved = 0
    for disagreement in disagreements:
        with path.open("a", encoding="utf-8") as out:
            out.write(disagreement.line() + "\n")
        saved += 1
    return saved
