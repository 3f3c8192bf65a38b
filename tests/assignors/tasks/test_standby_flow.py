"""Standbys are placed by separation, then evenness, then cost."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from assignors.model.assignment import TaskType
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState
from assignors.recording import NO_RECORDER
from assignors.tasks.high_availability import balance_over_threads
from assignors.tasks.standby_flow import place_standbys
from assignors.tasks.task_placement import TaskPlacement
from tests.contract.random_applications import RandomApplication


def small_state(seed: int, replicas: int, tags: tuple[str, ...]) -> ApplicationState | None:
    """Return at most four stateful tasks on two to four clients."""
    application = RandomApplication.from_seed(seed)
    while len(application.clients) > 4:
        application.leave()
    state = application.state()
    rows = np.flatnonzero(state.tasks.stateful)
    if len(state.clients) < 2 or not 1 <= len(rows) <= 4:
        return None
    configs = replace(state.assignment_configs, num_standby_replicas=replicas, rack_aware_assignment_tags=tags)
    return replace(state, assignment_configs=configs)


def with_actives(state: ApplicationState) -> TaskPlacement:
    placement = TaskPlacement(state)
    rows = np.flatnonzero(state.tasks.stateful)
    placement.move_actives(rows, np.arange(len(rows)) % len(state.clients))
    balance_over_threads(placement, TaskType.ACTIVE, lambda source, destination: True, NO_RECORDER)
    return placement


def is_near(state: ApplicationState, client: int, other: int) -> bool:
    keys = state.assignment_configs.rack_aware_assignment_tags
    if not keys:
        return bool(state.clients.rack[client] == state.clients.rack[other])
    tags = state.clients.tags
    return any(tags[client][key] == tags[other][key] for key in keys)


def without_standbys(state: ApplicationState, owner: int, standbys: tuple[int, ...], reliable: int) -> int:
    keys = state.assignment_configs.rack_aware_assignment_tags
    tags, rack = state.clients.tags, state.clients.rack.tolist()
    apart = [client for client in standbys if not is_near(state, owner, client)]
    places = {tuple(tags[client][key] for key in keys) if keys else (str(rack[client]),) for client in apart}
    return max(min(reliable, len(standbys)) - len(places), 0)


def unevenness(state: ApplicationState, taken: list[int], counts: list[int]) -> int:
    total, sum_threads = sum(taken) + sum(counts), int(state.clients.threads.sum())
    levels = 0
    for before, count, threads in zip(taken, counts, state.clients.threads.tolist(), strict=True):
        low, high = total * threads // sum_threads, -(-total * threads // sum_threads)
        for number in range(before + 1, before + count + 1):
            levels += 0 if number <= low else 1 if number <= high else 1 - (high - number) // threads
    return levels


def objective(
    state: ApplicationState, placement: TaskPlacement, costs: IntArray, chosen: list[tuple[int, ...]], reliable: int
) -> tuple[int, int, int]:
    """Return the priorities of standbys of each stateful task, in order."""
    rows = np.flatnonzero(state.tasks.stateful).tolist()
    owners = [placement.owner[row] for row in rows]
    numbers = range(len(state.clients))
    taken = [owners.count(client) for client in numbers]
    counts = [sum(client in standbys for standbys in chosen) for client in numbers]
    return (
        sum(without_standbys(state, owner, standbys, reliable) for owner, standbys in zip(owners, chosen, strict=True)),
        unevenness(state, taken, counts),
        sum(int(costs[row, client]) for row, standbys in zip(rows, chosen, strict=True) for client in standbys),
    )


@pytest.mark.parametrize(
    ("replicas", "reliable", "tags"),
    [(1, 1, ()), (2, 1, ()), (2, 2, ()), (2, 0, ()), (1, 1, ("zone",)), (2, 2, ("zone", "cluster"))],
)
def test_standbys_match_exhaustive_search(replicas: int, reliable: int, tags: tuple[str, ...]) -> None:
    compared = 0
    for seed in range(400):
        state = small_state(seed, replicas, tags)
        if state is None or compared == 25:
            continue
        compared += 1
        placement = with_actives(state)
        rng = random.Random(seed)
        costs = np.array([[rng.randrange(20) for _ in state.clients.ids] for _ in state.tasks.ids])
        rows = np.flatnonzero(state.tasks.stateful).tolist()
        others = [[c for c in range(len(state.clients)) if c != placement.owner[row]] for row in rows]
        copies = min(replicas, len(state.clients) - 1)
        possible = itertools.product(*(itertools.combinations(clients, copies) for clients in others))
        best = min(objective(state, placement, costs, list(choice), reliable) for choice in possible)
        place_standbys(placement, costs, reliable)
        actual = [tuple(np.flatnonzero(placement.standbys()[:, row]).tolist()) for row in rows]
        assert all(len(standbys) == copies for standbys in actual)
        assert objective(state, placement, costs, actual, reliable) == best, seed
    assert compared == 25
