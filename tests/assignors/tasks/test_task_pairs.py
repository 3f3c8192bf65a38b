"""TaskPairs against an explicit set of pairs."""

import random

import pytest

from assignors.tasks.stickiness import TaskPairs
from assignors.tasks.task_placement import TaskPlacement
from tests.assignors.tasks.sticky_tables import state

TASKS, CLIENTS = 12, 4


@pytest.mark.parametrize("seed", range(20))
def test_task_pairs_are_remembered_across_moves(seed: int) -> None:
    rng = random.Random(seed)
    pairs = TaskPairs(TASKS, CLIENTS)
    placement = TaskPlacement(state("A: | B: | C: | D:", " ".join(f"0_{number}" for number in range(TASKS))))
    met: set[frozenset[int]] = set()
    held: list[set[int]] = [set() for _ in range(CLIENTS)]

    def place(task: int, client: int) -> None:
        met.update(frozenset((task, other)) for other in held[client])
        held[client].add(task)
        pairs.place(task, client)

    placed = [rng.randrange(CLIENTS) for _ in range(TASKS)]
    for task, client in enumerate(placed):
        place(task, client)
    moved = rng.sample(placed, TASKS)
    for task, client in enumerate(moved):
        held[placed[task]].discard(task)
        placement.assign_active(task, client)
    for task, client in enumerate(moved):
        held[client].add(task)
    pairs.follow_moves(placed, placement)

    for task in rng.sample(range(TASKS), TASKS):
        pairs.recall(task, moved[task])
        for _ in range(2):
            others = [client for client in range(CLIENTS) if task not in held[client]]
            expected = [any(frozenset((task, other)) not in met for other in held[client]) for client in others]
            assert [pairs.is_new(task, client) for client in others] == expected
            place(task, rng.choice(others))
