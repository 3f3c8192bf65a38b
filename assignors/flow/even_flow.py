"""The cheapest way to place tasks on clients, as evenly over threads as can be.

Where `assignors.flow.transport` knows costs by rack, here every task and client has a cost of its own, and clients may
have something to do already.

Guarantees: exact; no placement is better in the order of the priorities. With groups, every client gets its share by
threads of each group, rounded down or up, which is always possible.
Priority: evenness, then cost, then what is to decide ties.
Complexity: a min-cost flow over N·C arcs; 1,000 tasks x 100 clients take some 50 ms.
Source: Ahuja, Magnanti, Orlin, "Network Flows" (lower bounds, convex costs). The priorities are weights: what a flow
lacks to be the best is a simple cycle, so it is enough that a weight exceeds what one cycle can save of the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assignors.flow.min_cost import Arcs, distances, min_cost_flow
from assignors.model.columns import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class EvenFlowProblem:
    """A problem of N tasks and C clients.

    Attributes:
        costs: shape (N, C); what a task costs on a client.
        threads: shape (C,).
        taken: shape (C,); what each client has to do already, which counts for evenness.
        group: shape (N,); numbers of groups, each to be spread evenly; None means that there are none.
        tie: shape (N, C); costs that decide where two placements are equally good; None leaves it to the solver.
    """

    costs: IntArray
    threads: IntArray
    taken: IntArray
    group: IntArray | None = None
    tie: IntArray | None = None


def solve(problem: EvenFlowProblem) -> IntArray:
    """Find a client for every task, shape (N,)."""
    num_tasks, num_clients = problem.costs.shape
    groups = np.zeros(num_tasks, dtype=np.int64)
    if problem.group is not None:
        groups = np.unique(problem.group, return_inverse=True)[1].astype(np.int64)
    least, most = _shares(problem, groups)
    capacity = levels(problem.threads, problem.taken, num_tasks)
    if problem.group is None:
        capacity = _as_far_as_needed(capacity, num_tasks)
    num_shares = len(least)
    first_share, first_client = num_tasks, num_tasks + num_shares
    sink = first_client + num_clients
    shares, task = np.arange(num_shares), np.repeat(np.arange(num_tasks), num_clients)
    client = np.tile(np.arange(num_clients), num_tasks)
    costs = problem.costs.ravel() - int(problem.costs.min())
    holder, level = np.nonzero(capacity)
    unevenness = (num_shares + 1) * (int(costs.max()) + 1)
    arcs = Arcs.joined(
        Arcs(task, first_share + groups[task] * num_clients + client, np.ones_like(task), costs),
        Arcs(first_share + shares, first_client + shares % num_clients, most - least, np.zeros_like(shares)),
        Arcs(first_client + holder, np.full_like(holder, sink), capacity[holder, level], level * unevenness),
    )
    supply = np.concatenate([np.ones_like(groups), -least, least.reshape(-1, num_clients).sum(axis=0), [-num_tasks]])
    flow = _carry(arcs, supply)
    if problem.tie is not None:
        flow = _untied(arcs, supply, flow, problem.tie.ravel())
    owner: IntArray = client[flow[: len(task)] > 0]
    return owner


def levels(threads: IntArray, taken: IntArray, number: int) -> IntArray:
    """How many more of so many tasks each client takes at each level of unevenness, shape (C, L).

    Up to its share rounded down there is none, up to that rounded up one, and one more for every further task a thread.
    """
    shares, total = (int(taken.sum()) + number) * threads, int(threads.sum())
    fair = -(-shares // total)
    beyond = np.maximum(-(-(taken + number - fair) // threads), 0)
    tops = np.column_stack([shares // total, fair[:, None] + threads[:, None] * np.arange(int(beyond.max()) + 1)])
    capacity: IntArray = np.diff(np.maximum(tops, taken[:, None]), axis=1, prepend=taken[:, None])
    return capacity


def _carry(arcs: Arcs, supply: IntArray) -> IntArray:
    flow = min_cost_flow(arcs, supply)
    if flow is None:
        raise AssertionError("there is room for every task")
    return flow


def _untied(arcs: Arcs, supply: IntArray, flow: IntArray, tie: IntArray) -> IntArray:
    """The flow that costs least by `tie` of those that are as cheap as this one.

    These are the flows that use no arc of positive reduced cost and every one of negative reduced cost to the full.
    """
    length = distances(arcs, flow, len(supply))
    reduced = arcs.cost + length[arcs.tail] - length[arcs.head]
    full = np.where(reduced < 0, arcs.capacity, 0)
    rest = supply.copy()
    np.subtract.at(rest, arcs.tail, full)
    np.add.at(rest, arcs.head, full)
    costs = np.zeros_like(arcs.cost)
    costs[: len(tie)] = tie
    untied = _carry(replace(arcs, capacity=np.where(reduced == 0, arcs.capacity, 0), cost=costs), rest)
    return untied + full


def _shares(problem: EvenFlowProblem, groups: IntArray) -> tuple[IntArray, IntArray]:
    """The least and the most that each client takes of each group; two arrays of shape (G·C,)."""
    sizes = np.bincount(groups)
    if problem.group is None:
        most = np.repeat(sizes, len(problem.threads))
        return np.zeros_like(most), most
    exact, total = sizes[:, None] * problem.threads, int(problem.threads.sum())
    return (exact // total).ravel(), (-(-exact // total)).ravel()


def _as_far_as_needed(capacity: IntArray, number: int) -> IntArray:
    enough = int(np.argmax(capacity.sum(axis=0).cumsum() >= number))
    return capacity[:, : enough + 1]
