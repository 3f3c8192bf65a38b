"""Placing standbys by minimum-cost flow: apart from the other copies first, then evenly, then cheaply.

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
    """Give every stateful task its standbys, as far as there are clients.

    A standby is apart if its place is none of the active task's and holds no other standby of the task. A place is a
    rack; with `rack.aware.assignment.tags` it is the values of these tags, and one equal value makes it the active's.

    Guarantees: exact, for all standbys at once.

    Priority: the fewest standbys that a task lacks of so many apart; then evenness, (active and standby) tasks per
    thread; then cost.

    Complexity: a min-cost flow over T·C + 2·T·P arcs, where P is the number of places.

    Args:
        placement: what to change; every stateful task is active somewhere, and no client stands by.
        costs: shape (T, C); what a standby costs on a client.
        reliable: how many standbys of a task are to be apart, as far as it has so many.
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
    chosen = _carry(costs[rows], allowed, place, ~near[place[owner]], capacity, copies, min(reliable, copies))
    for row, client in np.argwhere(chosen).tolist():
        placement.assign_standby(int(rows[row]), client)


def _carry(
    costs: IntArray,
    allowed: BoolArray,
    place: IntArray,
    apart: BoolArray,
    capacity: IntArray,
    copies: int,
    reliable: int,
) -> BoolArray:
    """Solve the flow of N tasks: whether each client has a standby, shape (N, C).

    From a task there is a way to one standby in each place apart, and a way to crowd anywhere; what crowds beyond
    what a task may is to be avoided before all.

    Args:
        costs: shape (N, C).
        allowed: shape (N, C).
        place: shape (C,).
        apart: shape (N, P); whether a place is apart from the active task.
        capacity: shape (C, L); see `levels`.
        copies: how many standbys each task gets.
        reliable: how many of them are to be apart.
    """
    (num_tasks, num_places), num_clients = apart.shape, len(place)
    crowd, first_place = num_tasks, 2 * num_tasks
    first_client = first_place + num_tasks * num_places
    sink = first_client + num_clients
    task, client = np.nonzero(allowed)
    price = costs[task, client] - int(costs.min())
    unevenness = (num_clients + 1) * (int(price.max()) + 1)
    lacking = (capacity.shape[1] + 1) * unevenness
    holder, level = np.nonzero(capacity)
    each, (spread, spread_to) = np.arange(num_tasks), np.nonzero(apart)
    places = np.arange(num_tasks * num_places)
    arcs = Arcs.joined(
        _arcs(first_place + task * num_places + place[client], first_client + client, 1, price),
        _arcs(spread, first_place + spread * num_places + spread_to, 1, 0),
        _arcs(each, crowd + each, copies - reliable, 0),
        _arcs(each, crowd + each, reliable, lacking),
        _arcs(crowd + places // num_places, first_place + places, copies, 0),
        _arcs(first_client + holder, np.full_like(holder, sink), capacity[holder, level], level * unevenness),
    )
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[:num_tasks], supply[sink] = copies, -copies * num_tasks
    flow = min_cost_flow(arcs, supply)
    if flow is None:
        raise AssertionError("there is room for every standby")
    chosen = np.zeros_like(allowed)
    chosen[task, client] = flow[: len(task)] > 0
    return chosen


def _arcs(tail: IntArray, head: IntArray, capacity: IntArray | int, cost: IntArray | int) -> Arcs:
    return Arcs(tail, head, np.broadcast_to(capacity, tail.shape), np.broadcast_to(cost, tail.shape))


def _places(state: ApplicationState) -> tuple[IntArray, BoolArray]:
    """The place of each client, shape (C,), and which places are the same or share a tag's value, shape (P, P)."""
    keys = state.assignment_configs.rack_aware_assignment_tags
    values = state.clients.rack[:, None]
    if keys:
        values = np.column_stack([_numbered([tags.get(key) for tags in state.clients.tags]) for key in keys])
    found, place = np.unique(values, axis=0, return_inverse=True)
    same = ((found[:, None] == found) & (found != NO_RACK)).any(axis=2)
    return place.ravel(), same | np.eye(len(found), dtype=np.bool_)


def _numbered(values: list[str | None]) -> list[int]:
    numbers = {value: number for number, value in enumerate(sorted({value for value in values if value is not None}))}
    return [NO_RACK if value is None else numbers[value] for value in values]
