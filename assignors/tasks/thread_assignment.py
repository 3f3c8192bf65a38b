"""Distribute a client's tasks over its stream threads, the last step of the group leader.

Threads are numbered from 0: thread *i* is `StreamThread-(i + 1)`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import heapify
from typing import NamedTuple

from assignors.java.hash_order import in_hash_order

Lags = Mapping[int, int] | Sequence[int]


class ClientTasks(NamedTuple):
    """The tasks that an assignor assigned to one client: rows of distinct tasks, in Kafka's order of task ids.

    Attributes:
        stateful: active tasks with a changelog.
        stateless: other active tasks.
        standby: standby tasks.
    """

    stateful: Sequence[int]
    stateless: Sequence[int]
    standby: Sequence[int]


_STATEFUL, _STATELESS, _STANDBY = range(3)


class ThreadTasks(NamedTuple):
    """The tasks of each thread of one client: rows of tasks, ascending."""

    active: list[list[int]]
    standby: list[list[int]]


def assign_to_threads(
    client: ClientTasks,
    previous: Sequence[Sequence[int]],
    lags: Lags,
    hashes: Sequence[int],
    *,
    pluggable: bool = False,
) -> ThreadTasks:
    """Distribute a client's tasks over its threads exactly as Kafka.

    `client`: the client's tasks. With a pluggable assignor, each list is in the order in which the assignor assigned
    the tasks; otherwise the order does not matter. `previous`: for each thread, at least one, the tasks of which it
    reported state: active, standby, or only on disk; each once per thread. Stateless tasks and tasks that are not in
    `client` do not matter. `lags`: the client's lags as the assignor saw them (-2 for a running task), for each row
    that is in `previous` and in the client's stateful or standby tasks; a mapping, or a sequence with all rows.
    `hashes`: `hash_order.task_hash` of each row. `pluggable`: whether the assignor is pluggable (KIP-924). Pluggable
    assignors return hash sets of tasks, built-in assignors tree sets. Returns the tasks of each thread.

    Guarantees: the numbers of tasks of two threads differ by at most one, after the stateful tasks, after the standbys
    and after the stateless tasks. If a client gets the same tasks in the same roles again, its threads keep their
    stateful and standby tasks, whatever the lags. (Stateless tasks may move if a pluggable assignor lists them in
    another order.)

    Priority: balance over stickiness. Stateful tasks are first, then standbys, then stateless tasks, which are never
    sticky. Threads are in the order of their member ids as text, `StreamThread-10` before `StreamThread-2`; the
    previous tasks of a thread in the order of lag, then id. A thread keeps previous tasks up to the minimum number of
    tasks of all threads. Threads with fewer tasks are filled round-robin, by task id. Remaining tasks go, by id, to the
    thread that had them (the last one to claim them), and the rest to any thread, in the order of their positions in a
    heap.

    Complexity: O(N log N + T N) for N tasks and T threads; O(N²) if more than one task remains for any thread.

    Source: `StreamsPartitionAssignor.computeNewAssignment` and `.assignTasksToThreads`, `ClientState.prevTasksByLag`.
    """
    order = _pluggable_order if pluggable else _built_in_order
    load = [0] * len(previous)
    stateful = distribute(client.stateful, load, previous, lags, lambda: order(client, _STATEFUL, hashes))
    standby = distribute(client.standby, load, previous, lags, lambda: order(client, _STANDBY, hashes))
    stateless = distribute(client.stateless, load, (), lags, lambda: order(client, _STATELESS, hashes))
    active = [sorted(kept + assigned) for kept, assigned in zip(stateful, stateless, strict=True)]
    return ThreadTasks(active, [sorted(tasks) for tasks in standby])


def distribute(
    tasks: Sequence[int],
    load: list[int],
    previous: Sequence[Sequence[int]],
    lags: Lags,
    listed: Callable[[], list[int]],
) -> list[list[int]]:
    """Distribute tasks of one kind over the threads, and add them to `load`.

    `load`: number of tasks of each thread so far; the numbers differ by at most one. `previous`: previous tasks of each
    thread; empty for tasks that are not sticky. `listed`: returns the tasks in the order in which they enter Kafka's
    queue; called only if it matters.
    """
    if not tasks:
        return [[] for _ in load]
    distribution = _ThreadDistribution(tasks, load)
    skipped = distribution.keep(previous, lags) if previous else {}
    distribution.fill_up()
    if distribution.remaining:
        distribution.give_one_more(skipped, listed)
    for thread, assigned in enumerate(distribution.assigned):
        load[thread] += len(assigned)
    return distribution.assigned


class _ThreadDistribution:
    """The distribution of tasks of one kind over the threads.

    Attributes:
        assigned: tasks of each thread so far.
        capacity: number of tasks that each thread gets before any gets one more; negative if it already has more.
        remaining: tasks without thread.
        removed: the other tasks, in the order in which they were assigned.
    """

    __slots__ = ("assigned", "capacity", "remaining", "removed")

    def __init__(self, tasks: Sequence[int], load: Sequence[int]) -> None:
        minimum = (sum(load) + len(tasks)) // len(load)
        self.assigned: list[list[int]] = [[] for _ in load]
        self.capacity = [minimum - before for before in load]
        self.remaining = set(tasks)
        self.removed: list[int] = []

    def keep(self, previous: Sequence[Sequence[int]], lags: Lags) -> dict[int, int]:
        """Assign previous tasks to their threads within their capacity.

        Returns the previous tasks that did not fit, with their last owner.
        """
        remaining, lag_of = self.remaining, lags.__getitem__
        skipped: dict[int, int] = {}
        for thread in in_text_order(len(previous)):
            previous_tasks = [task for task in previous[thread] if task in remaining]
            if len(previous_tasks) > 1:
                previous_tasks.sort()
                previous_tasks.sort(key=lag_of)
            free = max(self.capacity[thread], 0)
            for task in previous_tasks[free:]:
                skipped[task] = thread
            del previous_tasks[free:]
            remaining.difference_update(previous_tasks)
            self.assigned[thread] = previous_tasks
            self.removed += previous_tasks
        return skipped

    def fill_up(self) -> None:
        """Assign tasks by id, round-robin, to all threads with free capacity."""
        assigned, capacity = self.assigned, self.capacity
        unfilled = deque(
            [thread for thread in in_text_order(len(capacity)) if len(assigned[thread]) < capacity[thread]]
        )
        if not unfilled:
            return
        for task in sorted(self.remaining):
            thread = unfilled.popleft()
            assigned[thread].append(task)
            self.remaining.remove(task)
            self.removed.append(task)
            if len(assigned[thread]) < capacity[thread]:
                unfilled.append(thread)
            elif not unfilled:
                return

    def give_one_more(self, skipped: Mapping[int, int], listed: Callable[[], list[int]]) -> None:
        """Assign the remaining tasks, fewer than threads, one to each thread that has no additional task yet."""
        assigned, capacity = self.assigned, self.capacity
        waiting = [thread for thread in in_text_order(len(capacity)) if len(assigned[thread]) == capacity[thread]]
        for task in sorted(skipped):
            thread = skipped[task]
            if thread in waiting and task in self.remaining:
                assigned[thread].append(task)
                self.remaining.remove(task)
                self.removed.append(task)
                waiting.remove(thread)
        queued = _as_queued(listed(), self.removed) if len(self.remaining) > 1 else self.remaining
        for task, thread in zip(queued, waiting, strict=False):
            assigned[thread].append(task)


@cache
def in_text_order(num_threads: int) -> tuple[int, ...]:
    """Return the threads in the order of their member ids, which differ only from the thread number on."""
    return tuple(sorted(range(num_threads), key=lambda thread: f"{thread + 1}-consumer"))


def _built_in_order(client: ClientTasks, kind: int, hashes: Sequence[int]) -> list[int]:
    """Return the tasks of a kind in the leader's order: from tree sets; active tasks are copied to hash sets."""
    return sorted(client.standby) if kind == _STANDBY else in_hash_order(sorted(client[kind]), hashes)


def _pluggable_order(client: ClientTasks, kind: int, hashes: Sequence[int]) -> list[int]:
    """Return the tasks of a kind in the leader's order from a hash map: hash sets by role, then by kind."""
    assigned = in_hash_order([*client.stateful, *client.stateless, *client.standby], hashes)
    standbys = set(client.standby)
    if kind == _STANDBY:
        return in_hash_order([task for task in assigned if task in standbys], hashes)
    wanted = set(client[kind])
    active = in_hash_order([task for task in assigned if task not in standbys], hashes)
    return in_hash_order([task for task in active if task in wanted], hashes)


def _as_queued(listed: list[int], removed: Sequence[int]) -> list[int]:
    """Return the array of a `java.util.PriorityQueue` of the listed tasks, after some were removed."""
    heapify(listed)  # all tasks differ, so the heap does not depend on how elements are sifted
    for task in removed:
        _remove(listed, task)
    return listed


def _remove(heap: list[int], task: int) -> None:
    index, moved = heap.index(task), heap.pop()
    if moved == task:
        return
    size, empty = len(heap), index
    while (child := 2 * empty + 1) < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] > moved:
            break
        heap[empty] = heap[child]
        empty = child
    while empty > 0 and heap[parent := (empty - 1) >> 1] > moved:
        heap[empty] = heap[parent]
        empty = parent
    heap[empty] = moved
