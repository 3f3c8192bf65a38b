"""Integer programs over cells: which broker holds which partition, and in which role.

A cell is a pair of a partition and a broker, with one binary variable per role. The caller sets the objective weight of
a cell. All brokers without a replica of a partition have the same weight for it. Each row of a limit covers a group of
cells.

Complexity: the program over all cells has P·B·K variables, each with one coefficient per limit.
Source: the programs of killerwhile/kafka-assignment-optimizer and everpeace/kafka-reassign-optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from assignors.integer_program import FloatArray, LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray, distinct
from assignors.replicas.state import NO_BROKER
from assignors.replicas.user_constraints import UserConstraintRow


class LimitScope(Enum):
    """The attribute that the cells of one row have in common."""

    PARTITION = "partition"
    BROKER = "broker"
    RACK = "rack"
    PARTITION_AND_RACK = "partition and rack"


@dataclass(frozen=True, slots=True, eq=False)
class LoadLimit:
    """A lower and an upper limit on the load of each group of cells.

    Attributes:
        counted: the counted items, as messages name them, for example "leaders".
        scope: the attribute that defines the groups.
        lower: shape (G,); the lower limit of each group.
        upper: shape (G,); the upper limit of each group.
        roles: the roles that count.
        weight: shape (P,); the load of one replica of a partition; None for 1.
    """

    counted: str
    scope: LimitScope
    lower: FloatArray
    upper: FloatArray
    roles: tuple[int, ...]
    weight: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Some cells, sorted by partition, then broker; both arrays have shape (C,)."""

    partition: IntArray
    broker: IntArray

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True, eq=False)
class RoleAssignment:
    """The cells that hold a replica, and the role of each replica.

    Attributes:
        cells: C cells with a replica.
        role: shape (C,); the role of each replica.
    """

    cells: Cells
    role: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RoleProgram:
    """A program over P partitions, B allowed brokers, and K roles.

    Attributes:
        rack: shape (B,); the rack of each broker; all 0 if racks do not constrain the plan.
        held: shape (P, W); indices of brokers that hold a replica; NO_BROKER for no replica or a broker that is not
            allowed.
        weight: shape (P, W, K); the objective weight of keeping a replica, by its new role.
        new_weight: shape (P,); the objective weight of a new replica.
        is_pinned: shape (P, W); the replicas that must stay in the first role.
        limits: the limits that a placement must meet.
        user_rows: rows of the user's constraints. Only the program over all cells includes them.
    """

    rack: IntArray
    held: IntArray
    weight: FloatArray
    new_weight: FloatArray
    is_pinned: BoolArray
    limits: tuple[LoadLimit, ...]
    user_rows: tuple[UserConstraintRow, ...] = ()

    @property
    def num_brokers(self) -> int:
        """Return B, the number of allowed brokers."""
        return len(self.rack)

    @property
    def num_roles(self) -> int:
        """Return K, the number of roles."""
        return int(self.weight.shape[2])

    def of_one_role(self) -> RoleProgram:
        """Return the relaxation with one role, in which each replica has the weight of its best role.

        Its optimum is an upper bound for this program. Limits on single roles and the user's constraints are left out.
        """
        every_role = tuple(range(self.num_roles))
        limits = tuple(replace(limit, roles=(0,)) for limit in self.limits if limit.roles == every_role)
        return replace(self, weight=self.weight.max(axis=2, keepdims=True), limits=limits, user_rows=())

    @property
    def num_rows(self) -> int:
        """Return the number of rows of all limits."""
        return sum(len(limit.lower) for limit in self.limits)

    def group_of(self, limit: LoadLimit, partition: IntArray, broker: IntArray) -> IntArray:
        """Return the group of each cell under a limit; partitions and brokers are broadcast."""
        group_functions: dict[LimitScope, Callable[[], IntArray]] = {
            LimitScope.PARTITION: lambda: partition,
            LimitScope.BROKER: lambda: broker,
            LimitScope.RACK: lambda: self.rack[broker],
            LimitScope.PARTITION_AND_RACK: lambda: partition * self.num_racks + self.rack[broker],
        }
        return group_functions[limit.scope]()

    @property
    def num_racks(self) -> int:
        """Return R, the highest rack number plus 1."""
        return int(self.rack.max()) + 1

    def all_cells(self) -> Cells:
        """Return all P·B cells."""
        return self.cells(np.arange(len(self.held) * self.num_brokers))

    def held_cells(self) -> Cells:
        """Return the cells that hold a replica."""
        row, position = np.nonzero(self.held != NO_BROKER)
        return self.cells(row * self.num_brokers + self.held[row, position])

    def cells(self, flat: IntArray) -> Cells:
        """Return the cells with these numbers (partition * B + broker), without duplicates."""
        unique = distinct(flat)
        return Cells(unique // self.num_brokers, unique % self.num_brokers)

    def flat(self, cells: Cells) -> IntArray:
        """Return the numbers of cells."""
        return cells.partition * self.num_brokers + cells.broker

    def linear_program(self, cells: Cells, *, is_full: bool = False) -> LinearProgram:
        """Build the program over some cells; all other cells stay empty.

        `cells`: the cells that may hold a replica; `is_full` says whether to include rows that other rows imply. Its
        variables are the cells by role: all cells in the first role, then all in the second. Its rows are those of the
        limits, the user's constraints, and at most one role per cell unless other rows imply that.
        """
        num_cell_rows = len(cells) if is_full and self.num_roles > 1 else self.num_cell_rows(cells)
        rows, columns, coefficients = self._coefficients(cells, num_cell_rows)
        user_lower, user_upper = ([getattr(row, end) for row in self.user_rows] for end in ("lower", "upper"))
        lower = np.concatenate([*(limit.lower for limit in self.limits), user_lower, np.zeros(num_cell_rows)])
        upper = np.concatenate([*(limit.upper for limit in self.limits), user_upper, np.ones(num_cell_rows)])
        objective, lowest = self.objective(cells), self.lower_bounds(cells)
        return build_program(objective, lowest, np.ones(len(objective)), (rows, columns, coefficients), lower, upper)

    def _coefficients(self, cells: Cells, num_cell_rows: int) -> tuple[IntArray, IntArray, FloatArray]:
        rows, columns, coefficients = [], [], []
        first_row, index = 0, np.arange(len(cells))
        for limit in self.limits:
            group = self.group_of(limit, cells.partition, cells.broker)
            weight = np.ones(len(cells)) if limit.weight is None else limit.weight[cells.partition]
            for role in limit.roles:
                rows.append(first_row + group)
                columns.append(role * len(cells) + index)
                coefficients.append(weight)
            first_row += len(limit.lower)
        for user_row in self.user_rows:
            index_in_cells, is_included = self._locate(cells, user_row.cell)
            rows.append(np.full(int(is_included.sum()), first_row))
            columns.append(user_row.role[is_included] * len(cells) + index_in_cells[is_included])
            coefficients.append(user_row.coefficient[is_included])
            first_row += 1
        for role in range(self.num_roles if num_cell_rows else 0):
            rows.append(first_row + index)
            columns.append(role * len(cells) + index)
            coefficients.append(np.ones(len(cells)))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(coefficients)

    def num_cell_rows(self, cells: Cells) -> int:
        """Return the number of rows "at most one role per cell"; 0 if other rows imply them."""
        is_implied = any(
            limit.scope is LimitScope.PARTITION_AND_RACK and limit.upper.max() <= 1 for limit in self.limits
        )
        return len(cells) if self.num_roles > 1 and not is_implied else 0

    def objective(self, cells: Cells) -> FloatArray:
        """Return the objective weight of each variable."""
        objective = np.tile(self.new_weight[cells.partition], (self.num_roles, 1))
        row, position, index = self._locate_replicas(cells, self.held != NO_BROKER)
        objective[:, index] = self.weight[row, position].T
        return objective.ravel()

    def lower_bounds(self, cells: Cells) -> FloatArray:
        """Return the lower bound of each variable: 1 where a replica is pinned."""
        lower = np.zeros((self.num_roles, len(cells)))
        _, _, index = self._locate_replicas(cells, self.is_pinned & (self.held != NO_BROKER))
        lower[0, index] = 1
        return lower.ravel()

    def _locate_replicas(self, cells: Cells, chosen: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows, positions and cell indices of the chosen replicas that are among the cells."""
        row, position = np.nonzero(chosen)
        index, is_included = self._locate(cells, row * self.num_brokers + self.held[row, position])
        return row[is_included], position[is_included], index[is_included]

    def _locate(self, cells: Cells, numbers: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the index of each cell number in `cells`, and whether it is included."""
        known = self.flat(cells)
        index = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return index, known[index] == numbers

    def satisfies_user_constraints(self, placement: RoleAssignment) -> bool:
        """Return whether a placement satisfies the user's constraints."""
        cell = self.flat(placement.cells)
        return all(row.lower <= row.sum_over(cell, placement.role) <= row.upper for row in self.user_rows)

    def limit_of_row(self, row: int) -> tuple[LoadLimit, int] | UserConstraintRow:
        """Return the limit and the group that a row belongs to, or the row of a user's constraint."""
        for limit in self.limits:
            if row < len(limit.lower):
                return limit, row
            row -= len(limit.lower)
        return self.user_rows[row]
