"""Decompose the difference of two assignments into cycles of moves."""

from __future__ import annotations

from collections.abc import Sequence


def decompose_into_cycles(sources: Sequence[int], destinations: Sequence[int]) -> list[list[int]]:
    """Decompose moves into cycles: each move starts at the client at which the one before it ends.

    Args:
        sources: client of each move's task before; M entries.
        destinations: client after; different from the source, and each client occurs as often as in `sources`.

    Returns:
        Numbers of the moves of each cycle, in its order. Each move is in one cycle; no cycle visits a client twice.

    Guarantees: if the later assignment has the minimum total cost among those with the same number of tasks on each
    client, and the cost of a task depends only on its own client, no cycle has a positive cost; undoing it would reduce
    the cost.

    Complexity: O(M).
    """
    moves_from: dict[int, list[int]] = {}
    for move in reversed(range(len(sources))):
        moves_from.setdefault(sources[move], []).append(move)
    cycles: list[list[int]] = []
    for start in list(moves_from):
        path: list[int] = []
        position_of = {start: 0}
        client = start
        while moves_from[client] or path:
            move = moves_from[client].pop()
            path.append(move)
            client = destinations[move]
            if client in position_of:
                position = position_of[client]
                for closed in path[position:]:
                    position_of.pop(destinations[closed])
                cycles.append(path[position:])
                del path[position:]
            position_of[client] = len(path)
    return [cycle[(first := cycle.index(min(cycle))) :] + cycle[:first] for cycle in cycles]
