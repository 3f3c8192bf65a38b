"""The largest number of tasks that can be on one of their clients, where clients have capacities.

Source: a maximum matching by augmenting paths (Kuhn, "The Hungarian method", 1955), with capacities.
"""

from __future__ import annotations

from assignors.model.columns import NO_CLIENT, BoolArray, IntArray, cells


def max_matching(allowed: BoolArray, capacity: IntArray) -> int:
    """Return how many tasks can be placed, each on one of its clients.

    Args:
        allowed: shape (N, C); the clients of each task.
        capacity: shape (C,); the maximum number of tasks of each client.

    Complexity: O(N · E) for E allowed pairs; searches that fail take O(E) together.
    """
    clients_of: dict[int, list[int]] = {}
    for task, client in zip(*(ends.tolist() for ends in cells(allowed)), strict=True):
        clients_of.setdefault(task, []).append(client)
    matching = _Matching(clients_of, capacity.tolist())
    return sum(matching.place(task) for task in clients_of)


class _Matching:
    """The tasks that are placed so far."""

    def __init__(self, clients_of: dict[int, list[int]], free: list[int]) -> None:
        self._clients_of = clients_of
        self._free = free
        self._placed: list[list[int]] = [[] for _ in free]
        self._is_full = [False for _ in free]
        """whether neither a client nor any to which its tasks could move has free capacity, now and later"""

    def place(self, task: int) -> bool:
        """Place a task, and move others if necessary; return whether that is possible."""
        reached_by = {client: (NO_CLIENT, task) for client in self._clients_of[task] if not self._is_full[client]}
        reached = list(reached_by)
        for client in reached:  # grows while it is read
            if self._free[client]:
                self._shift(client, reached_by)
                return True
            for other in self._placed[client]:
                for target in self._clients_of[other]:
                    if target not in reached_by and not self._is_full[target]:
                        reached_by[target] = client, other
                        reached.append(target)
        for client in reached:
            self._is_full[client] = True
        return False

    def _shift(self, client: int, reached_by: dict[int, tuple[int, int]]) -> None:
        """Move a task to a client with free capacity, another one to its place, and so on."""
        self._free[client] -= 1
        while client != NO_CLIENT:
            source, task = reached_by[client]
            self._placed[client].append(task)
            if source != NO_CLIENT:
                self._placed[source].remove(task)
            client = source
