"""The difference of two assignments, taken apart into cycles."""

from __future__ import annotations

from collections.abc import Sequence


def decompose_into_cycles(sources: Sequence[int], destinations: Sequence[int]) -> list[list[int]]:
    """Take moves apart into cycles: each goes on from the client at which the one before it ended, and ends at its own.

    Args:
        sources: the client of each move's task before, M of them.
        destinations: its client after; no move ends where it began, and every client occurs as often as in `sources`.

    Returns:
        The numbers of the moves of each cycle, in its order. Every move is in one cycle, and no client twice in one.

    Guarantees: where the later assignment has the least total cost among those that give each client as many tasks,
    and a task's cost hangs on its own client alone, no cycle costs anything: undoing one that does would give less.

    Complexity: O(M).
    """
    leaving: dict[int, list[int]] = {}
    for move in reversed(range(len(sources))):
        leaving.setdefault(sources[move], []).append(move)
    cycles: list[list[int]] = []
    for start in list(leaving):
        path: list[int] = []
        place_of = {start: 0}
        client = start
        while leaving[client] or path:
            move = leaving[client].pop()
            path.append(move)
            client = destinations[move]
            if client in place_of:
                place = place_of[client]
                for done in path[place:]:
                    place_of.pop(destinations[done])
                cycles.append(path[place:])
                del path[place:]
            place_of[client] = len(path)
    return [cycle[(first := cycle.index(min(cycle))) :] + cycle[:first] for cycle in cycles]
