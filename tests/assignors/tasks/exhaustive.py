"""Applications so small that every assignment of them can be tried."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from assignors import registry
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo
from assignors.objective.cost import Weights
from assignors.optimum.capacity_bounds import active_shares, standby_shares
from assignors.tasks.high_availability import HighAvailability
from tests.contract.random_applications import RandomApplication, random_configs, random_tasks


def tiny_state(seed: int, standbys: int | None = None) -> ApplicationState:
    """At most six tasks and three clients, some of which had some of the tasks."""
    chance = random.Random(seed)
    tasks = random_tasks(chance)
    configs = random_configs(chance)
    if standbys is not None:
        configs = replace(configs, num_standby_replicas=standbys)
    life = RandomApplication(
        chance, sorted(chance.sample(tasks, min(6, len(tasks))), key=lambda task: task.id), configs
    )
    for _ in range(chance.randint(1, 3)):
        life.join()
    former = registry.make(registry.find(chance.choice(["high_availability", "legacy_sticky"])))
    life.apply(former.assign(life.state()))
    for _ in range(chance.randint(0, 2)):
        life.apply_random_event()
    while len(life.clients) > 3:
        life.leave()
    return life.state()


def grown(seed: int) -> ApplicationState:
    """An application of some size, after somebody came or left."""
    life = RandomApplication.from_seed(seed)
    life.apply(HighAvailability().assign(life.state()))
    life.apply_random_event()
    return life.state()


CopyCost = Callable[[TaskInfo, KafkaStreamsState, bool], int]
"""What a task costs on a client; true for a standby."""


@dataclass(frozen=True)
class Rules:
    """What an assignment has to keep to, and what it costs."""

    weights: Weights
    slack: int = 0
    subtopology_slack: int | None = None
    downtime_cost: int = 0
    copy_cost: CopyCost | None = None
    """In place of weighing partitions and moves."""


@dataclass(frozen=True)
class Option:
    """One way to place one stateful task."""

    owner: int
    standbys: tuple[int, ...]


def options(num_clients: int, copies: int) -> list[Option]:
    everybody = range(num_clients)
    return [
        Option(owner, chosen)
        for owner in everybody
        for chosen in itertools.combinations([client for client in everybody if client != owner], copies)
    ]


def least_cost(state: ApplicationState, rules: Rules) -> tuple[int, int, int]:
    """The slack that is needed, the fewest repeats with it, and the least cost with these, from trying everything."""
    slack, repeats, stateful = _least_of_stateful(state, rules)
    return slack, repeats, stateful + _least_of_stateless(state, rules)


def _least_of_stateful(state: ApplicationState, rules: Rules) -> tuple[int, int, int]:
    tasks = [(row, info) for row, info in enumerate(state.all_tasks.values()) if info.is_stateful]
    clients = list(state.kafka_streams_states.values())
    copies = min(state.assignment_configs.num_standby_replicas, len(clients) - 1)
    ways = options(len(clients), copies)
    cost = np.array([[_cost(state, info, clients, way, rules) for way in ways] for _, info in tasks], dtype=np.int64)
    repeat = np.array([_repeats(state, clients, way) for way in ways])
    runs = np.array([[client == way.owner for client in range(len(clients))] for way in ways])
    stands = np.array([[client in way.standbys for client in range(len(clients))] for way in ways])
    tried = np.array(list(itertools.product(range(len(ways)), repeat=len(tasks))), dtype=np.int64)
    threads = state.clients.threads
    subtopology = state.tasks.subtopology[state.tasks.stateful]
    for extra in itertools.count():
        slack = rules.slack + extra
        inner = None if rules.subtopology_slack is None else rules.subtopology_slack + extra
        possible = _even(runs[tried], active_shares(len(tasks), threads), slack, subtopology, rules.subtopology_slack)
        if copies:
            shares = standby_shares(len(tasks), copies, threads)
            possible &= _even(stands[tried], shares, slack, subtopology, inner)
        if possible.any():
            met = repeat[tried].sum(axis=1)[possible]
            paid = sum((cost[place, tried[possible, place]] for place in range(len(tasks))), np.zeros_like(met))
            return slack, int(met.min()), int(paid[met == met.min()].min())
    raise AssertionError


def _least_of_stateless(state: ApplicationState, rules: Rules) -> int:
    tasks = [info for info in state.all_tasks.values() if not info.is_stateful]
    clients = list(state.kafka_streams_states.values())
    cost = np.array([[_stateless_cost(info, client, rules) for client in clients] for info in tasks], dtype=np.int64)
    tried = np.array(list(itertools.product(range(len(clients)), repeat=len(tasks))), dtype=np.int64)
    runs = np.eye(len(clients), dtype=np.bool_)[tried]
    subtopology = state.tasks.subtopology[~state.tasks.stateful]
    shares = active_shares(len(tasks), state.clients.threads)
    possible = _even(runs, shares, rules.slack, subtopology, rules.subtopology_slack)
    paid = sum((cost[place, tried[possible, place]] for place in range(len(tasks))), np.zeros(possible.sum(), np.int64))
    return int(paid.min())


def _even(held: BoolArray, shares: list[Fraction], slack: int, subtopology: IntArray, inner: int | None) -> BoolArray:
    """Which of K assignments (K, N, C) give everybody their shares, of all and of each subtopology."""
    number = held.shape[1]
    kept = [_within(held.sum(axis=1), shares, slack)]
    for one in sorted(set(subtopology.tolist())) if inner is not None else ():
        part = subtopology == one
        parts = [share * int(part.sum()) / number for share in shares]
        kept.append(_within(held[:, part].sum(axis=1), parts, inner or 0))
    fine: BoolArray = np.logical_and.reduce(kept)
    return fine


def _within(loads: IntArray, shares: list[Fraction], slack: int) -> BoolArray:
    least = [share.__floor__() - slack for share in shares]
    most = [share.__ceil__() + slack for share in shares]
    fine: BoolArray = np.logical_and.reduce((loads >= least) & (loads <= most), axis=1)
    return fine


def _remote(task: TaskInfo, client: KafkaStreamsState, *, source: bool) -> int:
    read = [p for p in task.topic_partitions if (p.is_source if source else p.is_changelog)]
    return sum(client.rack_id not in (partition.rack_ids or ()) for partition in read)


def _stateless_cost(task: TaskInfo, client: KafkaStreamsState, rules: Rules) -> int:
    return _remote(task, client, source=True) if rules.copy_cost is None else rules.copy_cost(task, client, False)


def _cost(state: ApplicationState, task: TaskInfo, clients: list[KafkaStreamsState], way: Option, rules: Rules) -> int:
    owner, weights = clients[way.owner], rules.weights
    if rules.copy_cost is not None:
        held = sum(rules.copy_cost(task, clients[number], True) for number in way.standbys)
        return rules.copy_cost(task, owner, False) + held
    paid = weights.traffic_cost * _remote(task, owner, source=True)
    paid += weights.non_overlap_cost * (task.id not in owner.previous_active_tasks)
    lag, most = owner.lag_for(task.id), state.assignment_configs.acceptable_recovery_lag
    if lag > most and any(client.lag_for(task.id) < lag for client in clients):
        paid += rules.downtime_cost
    for number in way.standbys:
        client = clients[number]
        paid += weights.traffic_cost * _remote(task, client, source=False)
        had = task.id in client.previous_active_tasks or task.id in client.previous_standby_tasks
        paid += weights.non_overlap_cost * (not had)
    return paid


def _repeats(state: ApplicationState, clients: list[KafkaStreamsState], way: Option) -> int:
    members = [clients[way.owner], *(clients[number] for number in way.standbys)]
    keys = state.assignment_configs.rack_aware_assignment_tags
    count = 0
    for place in keys or ("rack",):
        everybody = {_value(client, place, bool(keys)) for client in clients}
        if len(everybody) > 1:
            count += len(members) - len({_value(client, place, bool(keys)) for client in members})
    return count


def _value(client: KafkaStreamsState, place: str, is_tag: bool) -> str | None:
    return client.client_tags[place] if is_tag else client.rack_id


def in_another_order(state: ApplicationState, seed: int) -> ApplicationState:
    """The same application, its tasks, clients and partitions told in another order."""
    chance = random.Random(seed)
    tasks = [
        replace(info, topic_partitions=tuple(chance.sample(info.topic_partitions, len(info.topic_partitions))))
        for info in state.all_tasks.values()
    ]
    clients = list(state.kafka_streams_states.values())
    chance.shuffle(tasks)
    chance.shuffle(clients)
    return ApplicationState.of(tasks, clients, state.assignment_configs)
