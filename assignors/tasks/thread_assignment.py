"""Which stream thread of a client gets which of the client's tasks: what the group leader decides last.

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
    """The tasks that an assignor gave to one client: rows of tasks, in Kafka's order of task ids, each once.

    Attributes:
        stateful: active tasks with a store that is logged.
        stateless: the other active tasks.
        standby: standby tasks.
    """

    stateful: Sequence[int]
    stateless: Sequence[int]
    standby: Sequence[int]


_STATEFUL, _STATELESS, _STANDBY = range(3)


class ThreadTasks(NamedTuple):
    """The tasks of each thread of one client: rows of tasks, ascending.

    Attributes:
        active: the active tasks of each thread.
        standby: the standby tasks of each thread.
    """

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
    """Spread a client's tasks over its threads exactly as Kafka does.

    Args:
        client: what the assignor gave to the client. Where it is pluggable, each list is in the order in which it
            assigned those tasks; otherwise the order does not matter.
        previous: one list a thread, at least one: the tasks of which the thread says that it has their state, active,
            standby or only found on disk; each once a thread. Stateless tasks, and those that are not in `client`, do
            not matter.
        lags: the client's lag, as the assignor saw it (-2 for a task that runs), of each row that is both in `previous`
            and among the client's stateful and standby tasks; a mapping, or a sequence with all rows.
        hashes: `java_order.task_hash` of each row.
        pluggable: whether the assignor is one of KIP-924, whose answer reaches the leader in hash sets; that of
            Kafka's own reaches it in tree sets.

    Guarantees: the numbers of tasks of two threads differ by at most one, after the stateful tasks, after the standbys
    and after the stateless tasks. A client that is given the same tasks again leaves them where they are, whatever the
    lags: if each list of `previous` holds, of the client's stateful and standby tasks, what an answer for the same
    tasks, each in the same role, gave to that thread, the answer is the same. (Stateless tasks may move where a
    pluggable assignor lists them in another order.)

    Priority: balance over stickiness. Stateful tasks go first, then standbys, then stateless tasks, which never stick.
    Threads go in the order of their member ids as text, `StreamThread-10` before `StreamThread-2`; the tasks that one
    had, in the order of lag, then id. A thread keeps what it had up to the least number that every thread gets. Those
    that have less are filled up in turns, by task id. What is left beyond the least number goes back, by id, to the
    thread that had it (the last one to claim it), and the rest to any thread, in the order in which it lies in a heap.

    Complexity: O(N log N + T N) for N tasks and T threads; O(N²) where more than one task is left to any thread.

    Source: `StreamsPartitionAssignor.computeNewAssignment` and `.assignTasksToThreads`, `ClientState.prevTasksByLag`.
    """
    order = _pluggable_order if pluggable else _built_in_order
    load = [0] * len(previous)
    stateful = _share(client.stateful, load, previous, lags, lambda: order(client, _STATEFUL, hashes))
    standby = _share(client.standby, load, previous, lags, lambda: order(client, _STANDBY, hashes))
    stateless = _share(client.stateless, load, (), lags, lambda: order(client, _STATELESS, hashes))
    active = [sorted(kept + dealt) for kept, dealt in zip(stateful, stateless, strict=True)]
    return ThreadTasks(active, [sorted(tasks) for tasks in standby])


def _share(
    tasks: Sequence[int],
    load: list[int],
    previous: Sequence[Sequence[int]],
    lags: Lags,
    listed: Callable[[], list[int]],
) -> list[list[int]]:
    """What each thread gets of tasks of one kind; `load`, how many tasks it has of other kinds, grows by them.

    Args:
        tasks: the tasks of this kind.
        load: one number a thread; they differ by at most one.
        previous: what each thread had; nothing at all where tasks do not stick.
        lags: as for a client.
        listed: the tasks in the order in which they enter Kafka's queue; asked for only where it matters.
    """
    if not tasks:
        return [[] for _ in load]
    dealing = _ThreadDistribution(tasks, load)
    skipped = dealing.keep(previous, lags) if previous else {}
    dealing.fill_up()
    if dealing.left:
        dealing.give_one_more(skipped, listed)
    for thread, given in enumerate(dealing.given):
        load[thread] += len(given)
    return dealing.given


class _ThreadDistribution:
    """Tasks of one kind on their way to the threads.

    Attributes:
        given: what each thread got so far.
        room: how many each thread should get before any gets one more; negative where one has more already.
        left: the tasks that nobody got so far.
        taken: the others, in the order in which they left.
    """

    __slots__ = ("given", "left", "room", "taken")

    def __init__(self, tasks: Sequence[int], load: Sequence[int]) -> None:
        fewest = (sum(load) + len(tasks)) // len(load)
        self.given: list[list[int]] = [[] for _ in load]
        self.room = [fewest - before for before in load]
        self.left = set(tasks)
        self.taken: list[int] = []

    def keep(self, previous: Sequence[Sequence[int]], lags: Lags) -> dict[int, int]:
        """Give each thread what it had, as far as there is room; the rest of that comes back, with its last owner."""
        left, lag_of = self.left, lags.__getitem__
        skipped: dict[int, int] = {}
        for thread in in_text_order(len(previous)):
            had = [task for task in previous[thread] if task in left]
            if len(had) > 1:
                had.sort()
                had.sort(key=lag_of)
            room = max(self.room[thread], 0)
            for task in had[room:]:
                skipped[task] = thread
            del had[room:]
            left.difference_update(had)
            self.given[thread] = had
            self.taken += had
        return skipped

    def fill_up(self) -> None:
        """Deal out tasks by id, in turns, to all threads that have room."""
        given, room = self.given, self.room
        unfilled = deque([thread for thread in in_text_order(len(room)) if len(given[thread]) < room[thread]])
        if not unfilled:
            return
        for task in sorted(self.left):
            thread = unfilled.popleft()
            given[thread].append(task)
            self.left.remove(task)
            self.taken.append(task)
            if len(given[thread]) < room[thread]:
                unfilled.append(thread)
            elif not unfilled:
                return

    def give_one_more(self, skipped: Mapping[int, int], listed: Callable[[], list[int]]) -> None:
        """Give what is left, fewer tasks than there are threads, one each to threads that have not got more already."""
        given, room = self.given, self.room
        waiting = [thread for thread in in_text_order(len(room)) if len(given[thread]) == room[thread]]
        for task in sorted(skipped):
            thread = skipped[task]
            if thread in waiting and task in self.left:
                given[thread].append(task)
                self.left.remove(task)
                self.taken.append(task)
                waiting.remove(thread)
        queued = _as_queued(listed(), self.taken) if len(self.left) > 1 else self.left
        for task, thread in zip(queued, waiting, strict=False):
            given[thread].append(task)


@cache
def in_text_order(num_threads: int) -> tuple[int, ...]:
    """The threads in the order of their member ids, of which only the thread's number and what follows it differ."""
    return tuple(sorted(range(num_threads), key=lambda thread: f"{thread + 1}-consumer"))


def _built_in_order(client: ClientTasks, kind: int, hashes: Sequence[int]) -> list[int]:
    """The tasks of a kind as the leader sees them: out of tree sets, the actives picked into hash sets."""
    return sorted(client.standby) if kind == _STANDBY else in_hash_order(sorted(client[kind]), hashes)


def _pluggable_order(client: ClientTasks, kind: int, hashes: Sequence[int]) -> list[int]:
    """The same if all come in a hash map: by role they are picked into hash sets, the actives once more by kind."""
    assigned = in_hash_order([*client.stateful, *client.stateless, *client.standby], hashes)
    standbys = set(client.standby)
    if kind == _STANDBY:
        return in_hash_order([task for task in assigned if task in standbys], hashes)
    wanted = set(client[kind])
    active = in_hash_order([task for task in assigned if task not in standbys], hashes)
    return in_hash_order([task for task in active if task in wanted], hashes)


def _as_queued(listed: list[int], taken: Sequence[int]) -> list[int]:
    """What lies in a `java.util.PriorityQueue` made of the tasks listed, as it lies there, after some were removed."""
    heapify(listed)  # all tasks differ, so that there is one heap which every way of sifting down ends in
    for task in taken:
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
