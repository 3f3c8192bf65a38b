"""Linear constraints of the user's own on placements, from text to rows of an integer program.

A constraint compares a sum with a number: `leaders(topic=orders, rack=az1) <= 3`, or
`replicas(broker=1) - replicas(broker=2) = 0`. A term counts `replicas`, `leaders` or `followers`, of everything or of
what its selectors name: `topic`, `partition`, `broker`, `rack`. A term may have a whole number before it as a factor.
With `per broker`, `per rack`, `per topic` or `per partition` before the comparison, the constraint holds for each of
them that is selected: `leaders(topic=orders) per broker <= 2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assignors.errors import AssignorError
from assignors.integer_program import FloatArray
from assignors.model.columns import NO_RACK, BoolArray, IntArray
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
    """A constraint that names what does not exist."""


@dataclass(frozen=True, slots=True)
class ConstraintTerm:
    """A factor times the replicas in some roles that selectors, by key, select."""

    factor: int
    kind: str
    selectors: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UserConstraint:
    """A sum of terms between two ends, for everything or for each member of a group.

    Attributes:
        text: as the user wrote it.
        terms: what is added up.
        per: one of GROUPS; None for everything at once.
        lower: the least that the sum may be.
        upper: the most.
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
        name: the constraint, and the member of its group.
        cell: shape (N,); partition times brokers plus broker, each cell once in a role.
        role: shape (N,).
        coefficient: shape (N,).
        lower: the least that the row may come to.
        upper: the most.
    """

    name: str
    cell: IntArray
    role: IntArray
    coefficient: FloatArray
    lower: float
    upper: float

    def sum_over(self, cell: IntArray, role: IntArray) -> float:
        """Return what the row comes to if these cells have replicas in these roles."""
        here = np.isin(self.cell + self.role * 2**40, cell + role * 2**40)
        return float(self.coefficient[here].sum())


def parse_constraints(texts: str | Sequence[str]) -> tuple[UserConstraint, ...]:
    """Parse constraints; in a single text, semicolons separate them.

    Raises:
        ValueError: a text is not a constraint; says what is wrong, and what one looks like.
    """
    parts = texts.split(";") if isinstance(texts, str) else texts
    return tuple(_parse(part.strip()) for part in parts if part.strip())


def _parse(text: str) -> UserConstraint:
    terms: list[ConstraintTerm] = []
    place = 0
    while (found := _TERM.match(text, place)) and (not terms or found[1]):
        sign, factor, kind, selectors = found.groups()
        terms.append(
            ConstraintTerm((-1 if sign == "-" else 1) * int(factor or 1), kind, tuple(_selectors(text, selectors)))
        )
        place = found.end()
    end = _END.fullmatch(text, place)
    if not terms or end is None:
        raise ValueError(f"'{text}' is not a constraint from '{text[place:]}' on (such as {_EXAMPLE})")
    per, comparison, number = end.groups()
    lower = -np.inf if comparison == "<=" else float(number)
    upper = np.inf if comparison == ">=" else float(number)
    return UserConstraint(text, tuple(terms), per, lower, upper)


def _selectors(text: str, selectors: str) -> Iterator[tuple[str, str]]:
    for part in selectors.split(",") if selectors.strip() else ():
        found = _SELECTOR.fullmatch(part)
        if found is None:
            raise ValueError(f"'{text}': '{part.strip()}' is not a selector ({', '.join(SELECTORS)}; as in broker=3)")
        yield found[1], found[2]


def user_constraint_rows(
    constraints: Sequence[UserConstraint], question: NormalizedProblem, leader: int, follower: int
) -> tuple[UserConstraintRow, ...]:
    """Return the rows of constraints for the partitions and brokers of a question.

    Args:
        constraints: as parsed.
        question: what the strategy is asked.
        leader: the role of leaders.
        follower: the role of followers.

    Raises:
        ConstraintError: a selector names what the question does not have.
    """
    roles = {"replicas": (leader, follower), "leaders": (leader,), "followers": (follower,)}
    resolver = _Resolver(question)
    return tuple(row for each in constraints for row in resolver.rows(each, roles))


class _Resolver:
    """The cells of a question, by topic, partition, broker and rack."""

    def __init__(self, question: NormalizedProblem) -> None:
        self._state, self._num_brokers = question.told.state, question.num_brokers
        self._cell = np.arange(question.num_partitions * question.num_brokers)
        self._partition, self._broker = np.divmod(self._cell, max(question.num_brokers, 1))
        self._ids = self._state.ids[question.brokers]
        self._rack = self._state.rack[question.brokers]

    def rows(self, constraint: UserConstraint, roles: dict[str, tuple[int, ...]]) -> Iterator[UserConstraintRow]:
        """Yield the rows of a constraint: one, or one for each member of its group."""
        parts = [
            (cells, np.full(len(cells), role), np.full(len(cells), float(term.factor)))
            for term in constraint.terms
            for cells in [self._selected(constraint, term)]
            for role in roles[term.kind]
        ]
        cell, role, factor = (np.concatenate(each) for each in zip(*parts, strict=True))
        for name, members in self._members(constraint.per, cell):
            row = _row(constraint, name, cell[members], role[members], factor[members])
            if len(row.cell):
                yield row
            elif not row.lower <= 0 <= row.upper:
                raise ConstraintError(f"constraint '{row.name}': its terms cancel out")

    def _members(self, per: str | None, cell: IntArray) -> Iterator[tuple[str, BoolArray]]:
        """Yield the members of a group, and which of some cells belong to each."""
        if per is None:
            yield "", np.ones(len(cell), dtype=np.bool_)
            return
        partition, broker = np.divmod(cell, self._num_brokers)
        match per:
            case "broker":
                yield from ((f"broker {self._ids[each]}", broker == each) for each in np.unique(broker).tolist())
            case "rack":
                known = [rack for rack in np.unique(self._rack[broker]).tolist() if rack != NO_RACK]
                yield from ((f"rack {self._state.racks[rack]}", self._rack[broker] == rack) for rack in known)
            case "topic":
                topic = self._state.topic[partition]
                yield from ((self._state.topics[each], topic == each) for each in np.unique(topic).tolist())
            case _:
                yield from ((self._state.name(each), partition == each) for each in np.unique(partition).tolist())

    def _selected(self, constraint: UserConstraint, term: ConstraintTerm) -> IntArray:
        is_selected = np.ones(len(self._cell), dtype=np.bool_)
        for key, value in term.selectors:
            found, known = self._find(key, value)
            if not found.any():
                raise ConstraintError(f"constraint '{constraint.text}': no {key} {value} ({known})")
            is_selected &= found
        if not is_selected.any():
            said = ", ".join(f"{key}={value}" for key, value in term.selectors)
            raise ConstraintError(f"constraint '{constraint.text}': nothing is {said}")
        return self._cell[is_selected]

    def _find(self, key: str, value: str) -> tuple[BoolArray, str]:
        """Return the cells of a value, and what values there are."""
        number = int(value) if value.isdecimal() else -1
        match key:
            case "topic":
                names = [self._state.topics[topic] for topic in np.unique(self._state.topic).tolist()]
                place = self._state.topics.index(value) if value in names else -1
                return (self._state.topic == place)[self._partition], _listing("topics", names)
            case "partition":
                last = int(self._state.partition.max(initial=0))
                return (self._state.partition == number)[self._partition], f"partitions: 0 to {last}"
            case "broker":
                return (self._ids == number)[self._broker], _listing("brokers", self._ids.tolist())
            case _:
                place = self._state.racks.index(value) if value in self._state.racks else -2
                return (self._rack == place)[self._broker], _listing("racks", self._state.racks)


def _row(
    constraint: UserConstraint, name: str, cell: IntArray, role: IntArray, factor: FloatArray
) -> UserConstraintRow:
    """Return a row in which every cell is once in a role; factors of cells in several terms add up."""
    key = role * 2**40 + cell
    unique, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, weights=factor, minlength=len(unique)).astype(np.float64)
    counted = np.flatnonzero(total)
    said = f"{constraint.text} ({name})" if name else constraint.text
    cells, roles = unique[counted] % 2**40, unique[counted] // 2**40
    return UserConstraintRow(said, cells, roles, total[counted], constraint.lower, constraint.upper)


def _listing(what: str, items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:12]))
    return f"{what}: {shown}, and {len(items) - 12} more" if len(items) > 12 else f"{what}: {shown}"
