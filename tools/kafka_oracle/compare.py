"""Comparison of Kafka's answers with others, counted by assignor and strategy."""

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
AnswerFunction = Callable[[Json, CollectionOrder], Json | None]
"""A function that answers a problem for a collection order; None if it has no answer."""


@dataclass(slots=True)
class Tally:
    """Counts of the problems of one assignor and strategy.

    Attributes:
        agreed: Identical answers by collection order; exceptions of the same class are identical.
        refused: Problems for which Kafka throws an exception.
        order_sensitive: Problems whose answer depends on the collection order.
    """

    compared: int = 0
    agreed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, ORDERS), 0))
    refused: int = 0
    order_sensitive: int = 0

    def identical(self) -> bool:
        """Return whether all answers are identical."""
        return all(agreed == self.compared for agreed in self.agreed.values())

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.compared += other.compared
        self.refused += other.refused
        self.order_sensitive += other.order_sensitive
        for order, agreed in other.agreed.items():
            self.agreed[order] += agreed


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A problem whose answer differs from Kafka's.

    Attributes:
        expected: Kafka's answer for sorted collections.
        expected_hash_order: Kafka's answer for hash collections.
        differences: Differences of the answer, one sentence each.
    """

    problem: Json
    expected: Json
    expected_hash_order: Json
    differences: list[str]

    def line(self) -> str:
        """Return a line of a problem file for `assignor-sim assign --check`, with the differences."""
        return json.dumps(
            {
                "problem": self.problem,
                "expected": self.expected,
                "expected_hash_order": self.expected_hash_order,
                "found": self.differences,
            }
        )


Tallies = dict[tuple[str, str], Tally]


def our_answer(problem: Json, order: CollectionOrder) -> Json:
    """Return the answer of the reimplementation."""
    return solve_problem(Problem(0, problem), "generated", order=order)


def recorded_answers(problems: Iterable[Problem]) -> AnswerFunction:
    """Return a function that looks up the expected answers of a problem file."""
    by_problem = {id(recorded.problem): recorded for recorded in problems}

    def look_up(problem: Json, order: CollectionOrder) -> Json | None:
        expected = by_problem[id(problem)].expected_answer(order)
        return None if expected is None else dict(expected)

    return look_up


def compare(
    oracle: Oracle, problems: Iterable[Json], answer: AnswerFunction, tallies: Tallies
) -> Iterator[Disagreement]:
    """Run Kafka and a function on problems, count identical answers in `tallies`, and yield the disagreements."""
    for problem, kafka_answers in oracle.ask(problems):
        answers = {order: answer(problem, order) for order in ORDERS}
        if None in answers.values():
            continue
        tally = tallies.setdefault(Problem(0, problem).kind, Tally())
        tally.compared += 1
        tally.refused += kafka_answers["sorted"]["error"] is not None
        tally.order_sensitive += bool(answer_differences(kafka_answers["sorted"], kafka_answers["production"]))
        differences: list[str] = []
        for order in ORDERS:
            of_order = answer_differences(kafka_answers[order], answers[order] or {})
            tally.agreed[order] += not of_order
            differences += [f"{order}: {text}" for text in of_order]
        if differences:
            yield Disagreement(problem, kafka_answers["sorted"], kafka_answers["production"], differences)


def total(tallies: Tallies) -> Tally:
    """Return the total of all tallies."""
    everything = Tally()
    for tally in tallies.values():
        everything.add(tally)
    return everything


def by_assignor(tallies: Tallies) -> dict[str, Tally]:
    """Return the total of each assignor over its strategies."""
    totals: dict[str, Tally] = {}
    for (assignor, _), tally in sorted(tallies.items()):
        totals.setdefault(assignor, Tally()).add(tally)
    return totals


def render(tallies: Tallies) -> str:
    """Return a table for the terminal."""
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
    """Append each disagreement to a new problem file as soon as it occurs; return the number of disagreements."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    saved = 0
    for disagreement in disagreements:
        with path.open("a", encoding="utf-8") as out:
            out.write(disagreement.line() + "\n")
        saved += 1
    return saved
