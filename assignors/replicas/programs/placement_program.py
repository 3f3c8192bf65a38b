"""Integer programmes over cells: which partition has a replica at which broker, and in which role.

A cell is a partition and a broker; every cell has a variable a role. What a cell is worth is up to who sets the
programme, and is the same for all brokers that hold no replica of the partition yet; so are the limits, whose rows
are groups of cells.

Complexity: the whole programme has P·B·K variables, and a coefficient for each in every limit.
Source: the programmes of killerwhile/kafka-assignment-optimizer and everpeace/kafka-reassign-optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from assignors.integer_program import FloatArray, LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.programs.user_constraints import UserConstraintRow
from assignors.replicas.state import NO_BROKER


class LimitScope(Enum):
    """What the cells of a row have in common."""

    PARTITION = "partition"
    BROKER = "broker"
    RACK = "rack"
    PARTITION_AND_RACK = "partition and rack"


@dataclass(frozen=True, slots=True, eq=False)
class LoadLimit:
    """How much the cells of each group may come to.

    Attributes:
        what: what is counted, as a reader is told of it: "leaders of broker".
        group: what the cells have in common.
        lower: shape (G,); the least that the cells of each group may come to.
        upper: shape (G,); the most.
        roles: the roles that count.
        weight: shape (P,); what a replica of a partition counts; None for one each.
    """

    what: str
    group: LimitScope
    lower: FloatArray
    upper: FloatArray
    roles: tuple[int, ...]
    weight: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Some cells, sorted by partition, then broker; both shape (C,)."""

    partition: IntArray
    broker: IntArray

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True, eq=False)
class RoleAssignment:
    """Who has what.

    Attributes:
        cells: C cells with a replica.
        role: shape (C,); the role of each.
    """

    cells: Cells
    role: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RoleProgram:
    """A programme over P partitions, B brokers that may hold replicas, and K roles.

    Attributes:
        rack: shape (B,); the rack of each broker, zero throughout if racks do not matter.
        held: shape (P, W); places of brokers that hold a replica, NOBODY for none or for one that may not.
        worth: shape (P, W, K); what it is worth that a replica stays, in each role.
        new_worth: shape (P,); what a new replica is worth.
        is_pinned: shape (P, W); which replicas stay in the first role, come what may.
        limits: what has to hold.
        own: further rows, of the user's own constraints. They are part of the program over all cells alone.
    """

    rack: IntArray
    held: IntArray
    worth: FloatArray
    new_worth: FloatArray
    is_pinned: BoolArray
    limits: tuple[LoadLimit, ...]
    own: tuple[UserConstraintRow, ...] = ()

    @property
    def num_brokers(self) -> int:
        """B."""
        return len(self.rack)

    @property
    def num_roles(self) -> int:
        """K."""
        return int(self.worth.shape[2])

    def of_one_role(self) -> RoleProgram:
        """The programme in which every replica is worth what it is worth in its best role; no placement is worth more.

        Limits on single roles, and the user's own constraints, are left out.
        """
        every_role = tuple(range(self.num_roles))
        limits = tuple(replace(limit, roles=(0,)) for limit in self.limits if limit.roles == every_role)
        return replace(self, worth=self.worth.max(axis=2, keepdims=True), limits=limits, own=())

    @property
    def num_rows(self) -> int:
        """How many rows the limits have."""
        return sum(len(limit.lower) for limit in self.limits)

    def group(self, limit: LoadLimit, partition: IntArray, broker: IntArray) -> IntArray:
        """The row, of a limit's own, that cells are in; partitions and brokers are broadcast."""
        ways: dict[LimitScope, Callable[[], IntArray]] = {
            LimitScope.PARTITION: lambda: partition,
            LimitScope.BROKER: lambda: broker,
            LimitScope.RACK: lambda: self.rack[broker],
            LimitScope.PARTITION_AND_RACK: lambda: partition * self.num_racks + self.rack[broker],
        }
        return ways[limit.group]()

    @property
    def num_racks(self) -> int:
        """R, up to the last rack that a broker stands in."""
        return int(self.rack.max()) + 1

    def all_cells(self) -> Cells:
        """All P·B of them."""
        return self.cells(np.arange(len(self.held) * self.num_brokers))

    def held_cells(self) -> Cells:
        """Those that hold a replica."""
        row, place = np.nonzero(self.held != NO_BROKER)
        return self.cells(row * self.num_brokers + self.held[row, place])

    def cells(self, flat: IntArray) -> Cells:
        """The cells with these numbers, partition times B plus broker, each once."""
        unique = np.unique(flat)
        return Cells(unique // self.num_brokers, unique % self.num_brokers)

    def flat(self, cells: Cells) -> IntArray:
        """Their numbers."""
        return cells.partition * self.num_brokers + cells.broker

    def programme(self, cells: Cells, *, is_full: bool = False) -> LinearProgram:
        """The programme over some cells; all others stay empty.

        Variables are the cells' roles, all cells of the first role first. Rows are those of the limits, the user's own,
        and one a cell, unless others imply these.

        Args:
            cells: which.
            is_full: whether to state rows that others imply.
        """
        num_cell_rows = len(cells) if is_full and self.num_roles > 1 else self.num_cell_rows(cells)
        rows, columns, coefficients = self._coefficients(cells, num_cell_rows)
        own_lower, own_upper = ([getattr(own, end) for own in self.own] for end in ("lower", "upper"))
        lower = np.concatenate([*(limit.lower for limit in self.limits), own_lower, np.zeros(num_cell_rows)])
        upper = np.concatenate([*(limit.upper for limit in self.limits), own_upper, np.ones(num_cell_rows)])
        objective, lowest = self.objective(cells), self.lowest(cells)
        return build_program(objective, lowest, np.ones(len(objective)), (rows, columns, coefficients), lower, upper)

    def _coefficients(self, cells: Cells, num_cell_rows: int) -> tuple[IntArray, IntArray, FloatArray]:
        rows, columns, coefficients = [], [], []
        first_row, index = 0, np.arange(len(cells))
        for limit in self.limits:
            group = self.group(limit, cells.partition, cells.broker)
            weight = np.ones(len(cells)) if limit.weight is None else limit.weight[cells.partition]
            for role in limit.roles:
                rows.append(first_row + group)
                columns.append(role * len(cells) + index)
                coefficients.append(weight)
            first_row += len(limit.lower)
        for own in self.own:
            place, is_there = self._among(cells, own.cell)
            rows.append(np.full(int(is_there.sum()), first_row))
            columns.append(own.role[is_there] * len(cells) + place[is_there])
            coefficients.append(own.coefficient[is_there])
            first_row += 1
        for role in range(self.num_roles if num_cell_rows else 0):
            rows.append(first_row + index)
            columns.append(role * len(cells) + index)
            coefficients.append(np.ones(len(cells)))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(coefficients)

    def num_cell_rows(self, cells: Cells) -> int:
        """A cell has one role at most; where a rack has one replica of a partition at most, so it has anyway."""
        is_said = any(limit.group is LimitScope.PARTITION_AND_RACK and limit.upper.max() <= 1 for limit in self.limits)
        return len(cells) if self.num_roles > 1 and not is_said else 0

    def objective(self, cells: Cells) -> FloatArray:
        """What each variable is worth."""
        objective = np.tile(self.new_worth[cells.partition], (self.num_roles, 1))
        row, place, where = self._find(cells, self.held != NO_BROKER)
        objective[:, where] = self.worth[row, place].T
        return objective.ravel()

    def lowest(self, cells: Cells) -> FloatArray:
        """The least each variable may be: one where a replica is pinned."""
        lowest = np.zeros((self.num_roles, len(cells)))
        _, _, where = self._find(cells, self.is_pinned & (self.held != NO_BROKER))
        lowest[0, where] = 1
        return lowest.ravel()

    def _find(self, cells: Cells, chosen: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """The chosen replicas that are among the cells: their rows, columns, and places there."""
        row, place = np.nonzero(chosen)
        where, is_there = self._among(cells, row * self.num_brokers + self.held[row, place])
        return row[is_there], place[is_there], where[is_there]

    def _among(self, cells: Cells, wanted: IntArray) -> tuple[IntArray, BoolArray]:
        """Return where cells, given by number, are among some cells, and whether they are."""
        there = self.flat(cells)
        where = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
        return where, there[where] == wanted

    def satisfies_user_constraints(self, placement: RoleAssignment) -> bool:
        """Return whether a placement keeps the user's own constraints."""
        cell = self.flat(placement.cells)
        return all(own.lower <= own.sum_over(cell, placement.role) <= own.upper for own in self.own)

    def row_name(self, row: int) -> tuple[LoadLimit, int] | UserConstraintRow:
        """The limit that a row belongs to and the row's group, or the user's own constraint."""
        for limit in self.limits:
            if row < len(limit.lower):
                return limit, row
            row -= len(limit.lower)
        return self.own[row]
