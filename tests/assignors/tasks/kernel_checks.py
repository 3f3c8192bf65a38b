"""Checks of the kernels of the high availability assignor against reference implementations, on random placements."""

import copy
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.recording import NO_RECORDER
from assignors.tasks.rack_aware import configured_flow, traffic_by_rack
from assignors.tasks.standby import LeastLoadedStandbys, TagAwareStandbys, no_tag_constraints
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.sticky import exchange_within_subtopologies
from assignors.tasks.task_movement import move_to_caught_up_clients
from assignors.tasks.task_placement import TaskPlacement
from tests.assignors.tasks.random_states import RecordedWork, draw_placement, draw_state
from tests.assignors.tasks.reference_exchange import exchange_plainly
from tests.assignors.tasks.reference_movement import PlainMovement

MIN_TRAFFIC = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
BALANCED = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.BALANCE_SUBTOPOLOGY)


def draw_placements(seed: int, number: int) -> Iterator[tuple[random.Random, TaskPlacement]]:
    rng = random.Random(seed)
    for _ in range(number):
        yield rng, draw_placement(rng, draw_state(rng))


def tables(placement: TaskPlacement) -> dict[str, list[int]]:
    names = ("owner", "standby", "active_count", "assigned_count")
    return {name: list(getattr(placement, name)) for name in names}


def expected_counts(placement: TaskPlacement) -> dict[str, list[int]]:
    """Return the counts that a placement must have."""
    active = Counter(placement.owner)
    clients = range(len(placement.threads))
    standbys = placement.standbys().sum(axis=1).tolist()
    return {
        "active_count": [active[client] for client in clients],
        "assigned_count": [active[client] + standbys[client] for client in clients],
    }


def draw_traffic(rng: random.Random, state: ApplicationState) -> IntArray:
    least, most = rng.choice([(0, 0), (0, 1), (0, 9), (-5, 5)])
    racks = range(len(state.partitions.racks))
    if rng.random() < 0.5:
        return traffic_by_rack(state, state.tasks.changelog, most)
    return np.array([[rng.randint(least, most) for _ in racks] for _ in state.tasks.ids], dtype=np.int64)


def check_movement(seed: int, number: int) -> None:
    """Check that tasks move to caught-up clients as in the reference."""
    moved = 0
    for _, placement in draw_placements(seed, number):
        plain = copy.deepcopy(placement)
        expected = PlainMovement(plain).run()
        assert move_to_caught_up_clients(placement, NO_RECORDER) == expected
        moved += expected
        assert tables(placement) == tables(plain)
        assert tables(placement).items() >= expected_counts(placement).items()
    assert moved > 3 * number


def check_least_loaded_standbys(seed: int, number: int) -> None:
    """Check that standbys go to the least loaded clients."""
    for rng, placement in draw_placements(seed, number):
        state = placement.state
        tasks = [
            task for task in np.flatnonzero(state.tasks.stateful).tolist() if not placement.standbys()[:, task].any()
        ]
        rng.shuffle(tasks)
        plain = copy.deepcopy(placement)
        for task in tasks:
            others = [client for client in range(len(state.clients)) if client != plain.owner[task]]
            others.sort(key=plain.assigned_load)
            for client in others[: state.assignment_configs.num_standby_replicas]:
                plain.assign_standby(task, client)
        LeastLoadedStandbys(state).assign(placement, tasks, NO_RECORDER)
        assert tables(placement) == tables(plain)


def check_standby_exchange(seed: int, number: int, *, keeps_tags: bool) -> None:
    """Check that the exchange of standbys equals solving every pair of clients."""
    exchanged = 0
    for rng, placement in draw_placements(seed, number):
        state = placement.state
        clients = list(range(len(state.clients)))
        rng.shuffle(clients)
        traffic = draw_traffic(rng, state)
        price = rng.choice([0, 1, 4, -1])
        silent, plain, before = copy.deepcopy(placement), copy.deepcopy(placement), tables(placement)
        tags = TagAwareStandbys(state, ()).tags_to_keep() if keeps_tags else no_tag_constraints(state)
        flow = configured_flow(replace(state, assignment_configs=MIN_TRAFFIC))
        recorded = RecordedWork()
        expected = exchange_plainly(plain, clients, traffic, price, keeps_tags, flow)
        exchange_standbys(placement, clients, traffic, price, tags, recorded)
        exchange_standbys(silent, clients, traffic, price, tags, NO_RECORDER)
        assert tables(placement) == tables(silent) == tables(plain)
        assert recorded.flows == Counter(expected)
        exchanged += tables(placement) != before
    assert exchanged > number // 6


def check_exchange_within_subtopologies(seed: int, number: int) -> None:
    """Check that the exchange of standbys within subtopologies equals solving every pair of clients."""
    exchanged = 0
    for _, placement in draw_placements(seed, number):
        state = placement.state
        flow = configured_flow(replace(state, assignment_configs=BALANCED))
        clients = range(len(state.clients))
        traffic = traffic_by_rack(state, state.tasks.changelog, 10)
        plain, before = copy.deepcopy(placement), tables(placement)
        recorded = RecordedWork()
        expected = exchange_plainly(plain, clients, traffic, 1, False, flow)
        exchange_within_subtopologies(placement, clients, traffic, 1, recorded)
        assert tables(placement) == tables(plain)
        assert recorded.flows == Counter(expected)
        exchanged += tables(placement) != before
    assert exchanged > number // 8
