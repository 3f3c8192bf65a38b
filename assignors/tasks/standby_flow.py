"""Place standbys by min-cost flow: separation first, then evenness, then cost.

Source: KIP-925, standby option II ("prefer reliability and then find optimal cost"); the graph is this project's.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.even_flow import levels
from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.tasks.task_placement import TaskPlacement


def place_standbys(placement: TaskPlacement, costs: IntArray, reliable: int) -> None:
    """Place the standbys of all stateful tasks while there are clients.

    A standby is separated if its place differs from that of the active task and from those of the task's other
    standbys. A place is a rack; with `rack.aware.assignment.tags` it is the combination of their values, and one equal
    value makes it the active task's.

    Guarantees: exact, for all standbys at once.

    Priority: the fewest missing separated standbys; then evenness of (active and standby) tasks per thread; then cost.

    Complexity: a min-cost flow over T·C + 2·T·P arcs for P places.

    Args:
        placement: the placement to change; all stateful tasks are active, and there are no standbys.
        costs: shape (T, C); cost of a standby on a client.
        reliable: number of standbys of a task to separate, if it has so many.
    """
    state = placement.state
    rows = np.flatnonzero(state.tasks.stateful)
    copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
    if not len(rows) or copies < 1:
        return
    place, near = _places(state)
    owner = placement.owners()[rows]
    allowed = np.arange(len(state.clients)) != owner[:, None]
    taken = np.frombuffer(placement.assigned_count, dtype=np.int64).copy()
    capacity = levels(state.clients.threads, taken, len(rows) * copies)
    chosen = _solve_flow(costs[rows], allowed, place, ~near[place[owner]], capacity, copies, min(reliable, copies))
    for row, client in np.argwhere(chosen).tolist():
        placement.assign_standby(int(rows[row]), client)


def _solve_flow(
    costs: IntArray,
    allowed: BoolArray,
    place: IntArray,
    apart: BoolArray,
    capacity: IntArray,
    copies: int,
    reliable: int,
) -> BoolArray:
    """Solve the flow of N tasks.

    A task has an arc to one standby in each separated place, and an arc for standbys anywhere else. Standbys beyond the
    permitted number of the latter are avoided above all.

    Args:
        costs: shape (N, C).
        allowed: shape (N, C); whether a client may hold a standby.
        place: shape (C,); place of each client.
        apart: shape (N, P); whether a place is separated from the active task.
        capacity: shape (C, L); see `levels`.
        copies: standbys of each task.
        reliable: number of them to separate.

    Returns:
        Shape (N, C); clients with a standby.
    """
    (num_tasks, num_places), num_clients = apart.shape, len(place)
    first_shared, first_place = num_tasks, 2 * num_tasks
    first_client = first_place + num_tasks * num_places
    sink = first_client + num_clients
    task, client = np.nonzero(allowed)
    price = costs[task, client] - int(costs.min())
    unevenness = (num_clients + 1) * (int(price.max()) + 1)
    lacking = (capacity.shape[1] + 1) * unevenness
    level_client, level = np.nonzero(capacity)
    tasks, (separated_task, separated_place) = np.arange(num_tasks), np.nonzero(apart)
    places = np.arange(num_tasks * num_places)
    arcs = Arcs.joined(
        _arcs(first_place + task * num_places + place[client], first_client + client, 1, price),
        _arcs(separated_task, first_place + separated_task * num_places + separated_place, 1, 0),
        _arcs(tasks, first_shared + tasks, copies - reliable, 0),
        _arcs(tasks, first_shared + tasks, reliable, lacking),
        _arcs(first_shared + places // num_places, first_place + places, copies, 0),
        _arcs(
            first_client + level_client,
            np.full_like(level_client, sink),
            capacity[level_client, level],
            level * unevenness,
        ),
    )
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[:num_tasks], supply[sink] = copies, -copies * num_tasks
    flow = min_cost_flow(arcs, supply)
    assert flow is not None, "each standby has a client"
    chosen = np.zeros_like(allowed)
    chosen[task, client] = flow[: len(task)] > 0
    return chosen


def _arcs(tail: IntArray, head: IntArray, capacity: IntArray | int, cost: IntArray | int) -> Arcs:
    return Arcs(tail, head, np.broadcast_to(capacity, tail.shape), np.broadcast_to(cost, tail.shape))


def _places(state: ApplicationState) -> tuple[IntArray, BoolArray]:
    """Return the place of each client, shape (C,), and which places are equal or share a tag's value, shape (P, P)."""
    keys = state.assignment_configs.rack_aware_assignment_tags
    values = state.clients.rack[:, None]
    if keys:
        values = np.column_stack([_numbered([tags.get(key) for tags in state.clients.tags]) for key in keys])
    distinct, place = np.unique(values, axis=0, return_inverse=True)
    shares_value = ((distinct[:, None] == distinct) & (distinct != NO_RACK)).any(axis=2)
    return place.ravel(), shares_value | np.eye(len(distinct), dtype=np.bool_)


def _numbered(values: list[str | None]) -> list[int]:
    numbers = {value: number for number, value in enumerate(sorted({value for value in values if value is not None}))}
    return [NO_RACK if value is None else numbers[value] for value in values]
