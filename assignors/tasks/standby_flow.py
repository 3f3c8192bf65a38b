"""Place standbys by min-cost flow: separation first, then evenness, then cost.

Source: KIP-925, standby option II ("prefer reliability and then find optimal cost"); the graph is this project's.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, levels, min_cost_flow
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.tasks.task_placement import TaskPlacement


def place_standbys(placement: TaskPlacement, costs: IntArray, reliable: int) -> None:
    """Place the standbys of all stateful tasks while there are clients.

    A standby is separated if its failure domain differs from that of the active task and from those of the task's other
    standbys. A failure domain is a rack; with `rack.aware.assignment.tags`, it is a combination of tag values, and must
    not share any value with that of the active task. `placement`: the placement to change; all stateful tasks are
    active, and there are no standbys. `costs`, shape (T, C): cost of a standby on a client. `reliable`: maximum number
    of standbys of a task to separate.

    Guarantees: exact, for all standbys at once.

    Priority: the fewest missing separated standbys; then evenness of (active and standby) tasks per thread; then cost.

    Complexity: a min-cost flow over T·C + 2·T·P arcs for P failure domains.
    """
    state = placement.state
    rows = np.flatnonzero(state.tasks.stateful)
    copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
    if not len(rows) or copies < 1:
        return
    domain, shares_value = _domains(state)
    owner = placement.owners()[rows]
    allowed = np.arange(len(state.clients)) != owner[:, None]
    taken = np.frombuffer(placement.assigned_count, dtype=np.int64).copy()
    capacity = levels(state.clients.threads, taken, len(rows) * copies)
    chosen = _solve_flow(
        costs[rows], allowed, domain, ~shares_value[domain[owner]], capacity, copies, min(reliable, copies)
    )
    for row, client in np.argwhere(chosen).tolist():
        placement.assign_standby(int(rows[row]), client)


def _solve_flow(
    costs: IntArray,
    allowed: BoolArray,
    domain: IntArray,
    is_separate: BoolArray,
    capacity: IntArray,
    copies: int,
    reliable: int,
) -> BoolArray:
    """Solve the flow of N tasks.

    A task has an arc to one standby in each separate failure domain, and arcs to standbys in any domain: free of charge
    for the standbys that need not be separated, and at a cost above all others for the rest. `costs` has shape (N, C).
    `allowed`, shape (N, C): whether a client may hold a standby. `domain`, shape (C,): failure domain of each client.
    `is_separate`, shape (N, P): whether a failure domain is separate from that of the active task. `capacity`, shape
    (C, L): see `levels`. The result has shape (N, C): clients with a standby.
    """
    (num_tasks, num_domains), num_clients = is_separate.shape, len(domain)
    first_shared, first_domain = num_tasks, 2 * num_tasks
    first_client = first_domain + num_tasks * num_domains
    sink = first_client + num_clients
    task, client = np.nonzero(allowed)
    price = costs[task, client] - int(costs.min())
    unevenness = (num_clients + 1) * (int(price.max()) + 1)
    lacking = (capacity.shape[1] + 1) * unevenness
    level_client, level = np.nonzero(capacity)
    tasks, (separate_task, separate_domain) = np.arange(num_tasks), np.nonzero(is_separate)
    domains = np.arange(num_tasks * num_domains)
    arcs = Arcs.joined(
        _arcs(first_domain + task * num_domains + domain[client], first_client + client, 1, price),
        _arcs(separate_task, first_domain + separate_task * num_domains + separate_domain, 1, 0),
        _arcs(tasks, first_shared + tasks, copies - reliable, 0),
        _arcs(tasks, first_shared + tasks, reliable, lacking),
        _arcs(first_shared + domains // num_domains, first_domain + domains, copies, 0),
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


def _domains(state: ApplicationState) -> tuple[IntArray, BoolArray]:
    """Return each client's failure domain, shape (C,), and which domains are equal or share a value, shape (P, P)."""
    keys = state.assignment_configs.rack_aware_assignment_tags
    values = state.clients.rack[:, None]
    if keys:
        values = np.column_stack([_numbered([tags.get(key) for tags in state.clients.tags]) for key in keys])
    distinct, domain = np.unique(values, axis=0, return_inverse=True)
    shares_value = ((distinct[:, None] == distinct) & (distinct != NO_RACK)).any(axis=2)
    return domain.ravel(), shares_value | np.eye(len(distinct), dtype=np.bool_)


def _numbered(values: list[str | None]) -> list[int]:
    numbers = {value: number for number, value in enumerate(sorted({value for value in values if value is not None}))}
    return [NO_RACK if value is None else numbers[value] for value in values]
