"""Actives and standbys of stateful tasks in one integer programme.

Source: an assignment problem with side constraints; clients of one rack are one where that is exact (`pools`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assignors.integer_program import solve_integer
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds
from assignors.optimum.failure_domains import NO_DOMAIN, cells
from assignors.optimum.variables import RoleVariables, RowBuilder

MAX_VARIABLES = 200_000
"""Numbers to choose from which on the programme is not tried: it would take minutes to write it down."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacementProblem:
    """A problem of N stateful tasks, each to be run once and stood by so many times, on C clients.

    Attributes:
        active: shape (N, C); what it costs to run a task.
        standby: shape (N, C); what it costs to hold a standby.
        copies: standbys of each task.
        running: what clients take of the active tasks.
        standing_by: what they take of the standbys.
        where: shape (K, C); in which places copies of a task should be apart, as of `spread.places`.
    """

    active: IntArray
    standby: IntArray
    copies: int
    running: CapacityBounds
    standing_by: CapacityBounds
    where: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PlacementSolution:
    """What was found of a problem.

    Attributes:
        active: shape (N, C); where tasks run.
        standby: shape (N, C); where their standbys are.
        bound: what no answer with as few repeats has prices of less than.
    """

    active: BoolArray
    standby: BoolArray
    bound: int


def solve(
    joint: PlacementProblem, repeats: int, time_limit_s: float, repeat_price: int = 0
) -> tuple[PlacementSolution | None, bool]:
    """Find the cheapest answer in which copies of a task are in one place at most so many times.

    Args:
        joint: the problem.
        repeats: as `spread.repeats` counts them, over all tasks.
        time_limit_s: how long it may take.
        repeat_price: what each of these costs.

    Returns:
        What was found, None if nothing was; and whether it is proven that there is nothing.

    Complexity: with no repeats, N·(2·P + S) whole numbers, P pools, S clients that are cheaper for a task than their
    pool; with repeats, 2·N·C + N·V of them, V places.
    """
    apart = repeats == 0
    cell = cells(joint.where) if apart else np.arange(joint.active.shape[1])
    first = RoleVariables(AggregatedClients(joint.active, joint.running, cell), 0)
    second = RoleVariables(AggregatedClients(joint.standby, joint.standing_by, cell), first.end)
    if second.end > MAX_VARIABLES:
        return None, False
    rows = RowBuilder()
    first.add_to(rows, 1)
    second.add_to(rows, joint.copies)
    number = len(joint.active)
    one = np.ones(number, dtype=np.int64)
    for member in _apart(joint.where, cell, places=apart):
        rows.add([*first.within(member), *second.within(member)], 0 * one, one)
    extra = 0 if apart else _add_repeats(rows, joint, (first, second), repeats)
    nothing = np.zeros(extra, dtype=np.int64)
    answer = solve_integer(
        rows.programme(
            -np.concatenate([first.prices(), second.prices(), nothing + repeat_price]),
            np.concatenate([first.most(), second.most(), nothing + joint.copies]),
        ),
        time_limit_s,
    )
    if answer.values is None:
        return None, answer.is_infeasible
    values = np.rint(answer.values).astype(np.int64)
    active, standby = first.read(values), second.read(values)
    bound = -answer.bound if np.isfinite(answer.bound) else 0.0
    return PlacementSolution(active, standby, int(np.ceil(round(bound, 3)))), False


def _apart(where: IntArray, cell: IntArray, *, places: bool) -> Iterator[BoolArray]:
    """The clients of which at most one has a copy of a task: one client or cell, or all in one place."""
    for number in range(int(cell.max(initial=-1)) + 1):
        member = cell == number
        if not places or (where[:, member] == NO_DOMAIN).all():
            yield member
    for row in where if places else ():
        for value in range(int(row.max(initial=NO_DOMAIN)) + 1):
            if (row == value).any():
                yield row == value


def _add_repeats(
    rows: RowBuilder, joint: PlacementProblem, roles: tuple[RoleVariables, RoleVariables], repeats: int
) -> int:
    """Count how often a task has another copy in a place, and limit the sum; returns how many numbers that takes."""
    number, end = len(joint.active), roles[1].end
    each = np.arange(number)
    count = 0
    for row in joint.where:
        for value in range(int(row.max(initial=NO_DOMAIN)) + 1):
            member = row == value
            if member.any():
                over = (each, end + count * number + each, -1)
                entries = [*roles[0].within(member), *roles[1].within(member), over]
                rows.add(entries, np.full(number, -joint.copies), np.ones(number, dtype=np.int64))
                count += 1
    if count:
        columns = end + np.arange(count * number)
        rows.add([(np.zeros_like(columns), columns, 1)], np.array([0]), np.array([repeats]))
    return count * number
