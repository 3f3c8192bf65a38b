"""The user's linear constraints on placements: from text to rows of an integer program.

A constraint compares a sum with a number: `leaders(topic=orders, rack=az1) <= 3`, or
`replicas(broker=1) - replicas(broker=2) = 0`. A term counts `replicas`, `leaders` or `followers`, either all of them or
those that its selectors match: `topic`, `partition`, `broker`, `rack`. A term may have an integer factor. With
`per broker`, `per rack`, `per topic` or `per partition` before the comparison, the constraint applies to each selected
broker, rack, topic or partition: `leaders(topic=orders) per broker <= 2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assignors.errors import AssignorError
from assignors.integer_program import FloatArray
from assignors.model.columns import NO_RACK, BoolArray, IntArray, distinct
from assignors.replicas.normalized_problem import NormalizedProblem

KINDS: Final = ("replicas", "leaders", "followers")
SELECTORS: Final = ("topic", "partition", "broker", "rack")
GROUPS: Final = ("broker", "rack", "topic", "partition")

_NAME = r"[^\s,()=]+"
_TERM = re.compile(rf"([+-])?\s*(?:(\d{{1,9}})\s*\*?\s*)?({'|'.join(KINDS)})\s*\(([^()]*)\)\s*")
_SELECTOR = re.compile(rf"\s*({'|'.join(SELECTORS)})\s*=\s*({_NAME})\s*")
_END = re.compile(rf"(?:per\s+({'|'.join(GROUPS)})\s*)?(<=|>=|=)\s*(-?\d{{1,12}})\s*")
_EXAMPLE = "leaders(topic=orders) per broker <= 2"


class ConstraintError(AssignorError):
    """A constraint that refers to an unknown topic, partition, broker or rack."""


@dataclass(frozen=True, slots=True)
class ConstraintTerm:
    """A factor times the number of replicas of a kind that match the selectors, by key."""

    factor: int
    kind: str
    selectors: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UserConstraint:
    """A sum of terms between two limits, for all replicas or for each member of a group.

    Attributes:
        per: one of GROUPS; None for all replicas together.
    """

    text: str
    terms: tuple[ConstraintTerm, ...]
    per: str | None
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class UserConstraintRow:
    """A row of an integer program: cells with a replica in a role, times their coefficients.

    Attributes:
        name: the text of the constraint, with the member of the group.
        cell: shape (N,); partition * brokers + broker. A cell occurs at most once per role.
        role: shape (N,); the role of the replica.
        coefficient: shape (N,).
    """

    name: str
    cell: IntArray
    role: IntArray
    coefficient: FloatArray
    lower: float
    upper: float

    def sum_over(self, cell: IntArray, role: IntArray) -> float:
        """Return the value of the row if these cells hold replicas in these roles."""
        is_included = np.isin(self.cell + self.role * 2**40, cell + role * 2**40)
        return float(self.coefficient[is_included].sum())


def parse_constraints(texts: str | Sequence[str]) -> tuple[UserConstraint, ...]:
    """Parse constraints; semicolons separate the constraints of a single text.

    Returns the constraints, in the order of the text. Raises ValueError if a text is not a constraint.
    """
    parts = texts.split(";") if isinstance(texts, str) else texts
    return tuple(_parse(part.strip()) for part in parts if part.strip())


def _parse(text: str) -> UserConstraint:
    terms: list[ConstraintTerm] = []
    position = 0
    while (match := _TERM.match(text, position)) and (not terms or match[1]):
        sign, factor, kind, selectors = match.groups()
        terms.append(
            ConstraintTerm((-1 if sign == "-" else 1) * int(factor or 1), kind, tuple(_selectors(text, selectors)))
        )
        position = match.end()
    end = _END.fullmatch(text, position)
    if not terms or end is None:
        raise ValueError(f"'{text}' is not a constraint: cannot parse '{text[position:]}' (example: {_EXAMPLE})")
    per, comparison, number = end.groups()
    lower = -np.inf if comparison == "<=" else float(number)
    upper = np.inf if comparison == ">=" else float(number)
    return UserConstraint(text, tuple(terms), per, lower, upper)


def _selectors(text: str, selectors: str) -> Iterator[tuple[str, str]]:
    for part in selectors.split(",") if selectors.strip() else ():
        match = _SELECTOR.fullmatch(part)
        if match is None:
            raise ValueError(
                f"'{text}': '{part.strip()}' is not a selector (selectors: {', '.join(SELECTORS)}; example: broker=3)"
            )
        yield match[1], match[2]


def user_constraint_rows(
    constraints: Sequence[UserConstraint], problem: NormalizedProblem, leader: int, follower: int
) -> tuple[UserConstraintRow, ...]:
    """Return the rows of constraints for the partitions and brokers of a problem.

    `follower`: the role of followers. Raises ConstraintError if a selector does not match anything in the problem.
    """
    roles = {"replicas": (leader, follower), "leaders": (leader,), "followers": (follower,)}
    resolver = _Resolver(problem)
    return tuple(row for constraint in constraints for row in resolver.rows(constraint, roles))


class _Resolver:
    """Finds the cells of topics, partitions, brokers and racks."""

    def __init__(self, problem: NormalizedProblem) -> None:
        self._state, self._num_brokers = problem.canonical.state, problem.num_brokers
        self._cell = np.arange(problem.num_partitions * problem.num_brokers)
        self._partition, self._broker = np.divmod(self._cell, max(problem.num_brokers, 1))
        self._ids = self._state.ids[problem.brokers]
        self._rack = self._state.rack[problem.brokers]

    def rows(self, constraint: UserConstraint, roles: dict[str, tuple[int, ...]]) -> Iterator[UserConstraintRow]:
        """Yield the rows of a constraint: one, or one per member of its group.

        Raises ConstraintError if the terms cancel out and the constraint cannot hold.
        """
        parts = [
            (cells, np.full(len(cells), role), np.full(len(cells), float(term.factor)))
            for term in constraint.terms
            for cells in [self._selected(constraint, term)]
            for role in roles[term.kind]
        ]
        cell, role, factor = (np.concatenate(column) for column in zip(*parts, strict=True))
        for name, members in self._members(constraint.per, cell):
            row = _row(constraint, name, cell[members], role[members], factor[members])
            if len(row.cell):
                yield row
            elif not row.lower <= 0 <= row.upper:
                raise ConstraintError(f"constraint '{row.name}': its terms cancel out; it can never hold")

    def _members(self, per: str | None, cell: IntArray) -> Iterator[tuple[str, BoolArray]]:
        """Yield the name of each member of a group, and a mask of its cells."""
        if per is None:
            yield "", np.ones(len(cell), dtype=np.bool_)
            return
        partition, broker = np.divmod(cell, self._num_brokers)
        match per:
            case "broker":
                yield from ((f"broker {self._ids[index]}", broker == index) for index in distinct(broker).tolist())
            case "rack":
                known = [rack for rack in distinct(self._rack[broker]).tolist() if rack != NO_RACK]
                yield from ((f"rack {self._state.racks[rack]}", self._rack[broker] == rack) for rack in known)
            case "topic":
                topic = self._state.topic[partition]
                yield from ((self._state.topics[index], topic == index) for index in distinct(topic).tolist())
            case _:
                yield from ((self._state.name(row), partition == row) for row in distinct(partition).tolist())

    def _selected(self, constraint: UserConstraint, term: ConstraintTerm) -> IntArray:
        """Return the cells that match all selectors of a term.

        Raises ConstraintError if a selector matches nothing, or all of them together match nothing.
        """
        is_selected = np.ones(len(self._cell), dtype=np.bool_)
        for key, value in term.selectors:
            is_match, known = self._find(key, value)
            if not is_match.any():
                raise ConstraintError(f"constraint '{constraint.text}': no {key} {value} ({known})")
            is_selected &= is_match
        if not is_selected.any():
            selectors = ", ".join(f"{key}={value}" for key, value in term.selectors)
            raise ConstraintError(f"constraint '{constraint.text}': no replica matches {selectors}")
        return self._cell[is_selected]

    def _find(self, key: str, value: str) -> tuple[BoolArray, str]:
        """Return a mask of the cells with this value, and a list of known values for error messages."""
        number = int(value) if value.isdecimal() else -1
        match key:
            case "topic":
                names = [self._state.topics[topic] for topic in distinct(self._state.topic).tolist()]
                index = self._state.topics.index(value) if value in names else -1
                return (self._state.topic == index)[self._partition], _listing("topics", names)
            case "partition":
                last = int(self._state.partition.max(initial=0))
                return (self._state.partition == number)[self._partition], f"partitions: 0 to {last}"
            case "broker":
                return (self._ids == number)[self._broker], _listing("brokers", self._ids.tolist())
            case _:
                index = self._state.racks.index(value) if value in self._state.racks else -2
                return (self._rack == index)[self._broker], _listing("racks", self._state.racks)


def _row(
    constraint: UserConstraint, name: str, cell: IntArray, role: IntArray, factor: FloatArray
) -> UserConstraintRow:
    """Return a row in which each cell occurs at most once per role; coefficients of a repeated cell are summed."""
    key = role * 2**40 + cell
    unique, group_index = np.unique(key, return_inverse=True)
    total = np.bincount(group_index, weights=factor, minlength=len(unique)).astype(np.float64)
    nonzero = np.flatnonzero(total)
    text = f"{constraint.text} ({name})" if name else constraint.text
    cells, roles = unique[nonzero] % 2**40, unique[nonzero] // 2**40
    return UserConstraintRow(text, cells, roles, total[nonzero], constraint.lower, constraint.upper)


def _listing(kind: str, items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:12]))
    return f"{kind}: {shown}, and {len(items) - 12} more" if len(items) > 12 else f"{kind}: {shown}"
