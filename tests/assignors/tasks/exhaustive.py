"""Applications that are small enough to try all assignments."""

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
from assignors.objective import Weights
from assignors.optimum.capacity_bounds import active_shares, standby_shares
from assignors.tasks.high_availability import HighAvailability
from tests.contract.random_applications import RandomApplication, random_configs, random_tasks


def tiny_state(seed: int, standbys: int | None = None) -> ApplicationState:
    """Return at most six tasks on three clients, some of which held some of the tasks."""
    rng = random.Random(seed)
    tasks = random_tasks(rng)
    configs = random_configs(rng)
    if standbys is not None:
        configs = replace(configs, num_standby_replicas=standbys)
    application = RandomApplication(
        rng, sorted(rng.sample(tasks, min(6, len(tasks))), key=lambda task: task.id), configs
    )
    for _ in range(rng.randint(1, 3)):
        application.join()
    former = registry.make(registry.find(rng.choice(["high_availability", "legacy_sticky"])))
    application.apply(former.assign(application.state()))
    for _ in range(rng.randint(0, 2)):
        application.apply_random_event()
    while len(application.clients) > 3:
        application.leave()
    return application.state()


def state_after_event(seed: int) -> ApplicationState:
    """Return a larger application after a client joined or left."""
    application = RandomApplication.from_seed(seed)
    application.apply(HighAvailability().assign(application.state()))
    application.apply_random_event()
    return application.state()


CopyCost = Callable[[TaskInfo, KafkaStreamsState, bool], int]
"""What a task costs on a client; true for a standby."""


@dataclass(frozen=True)
class Rules:
    """The constraints and costs of an assignment."""

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
    clients = range(num_clients)
    return [
        Option(owner, chosen)
        for owner in clients
        for chosen in itertools.combinations([client for client in clients if client != owner], copies)
    ]


def min_cost(state: ApplicationState, rules: Rules) -> tuple[int, int, int]:
    """Return the necessary slack, the fewest colocations with it, and the minimum cost, by trying all assignments."""
    slack, repeats, stateful = _min_stateful_cost(state, rules)
    return slack, repeats, stateful + _min_stateless_cost(state, rules)


def _min_stateful_cost(state: ApplicationState, rules: Rules) -> tuple[int, int, int]:
    tasks = [(row, info) for row, info in enumerate(state.all_tasks.values()) if info.is_stateful]
    clients = list(state.kafka_streams_states.values())
    copies = min(state.assignment_configs.num_standby_replicas, len(clients) - 1)
    all_options = options(len(clients), copies)
    cost = np.array(
        [[_cost(state, info, clients, option, rules) for option in all_options] for _, info in tasks], dtype=np.int64
    )
    repeat = np.array([_repeats(state, clients, option) for option in all_options])
    runs = np.array([[client == option.owner for client in range(len(clients))] for option in all_options])
    has_standby = np.array([[client in option.standbys for client in range(len(clients))] for option in all_options])
    combinations = np.array(list(itertools.product(range(len(all_options)), repeat=len(tasks))), dtype=np.int64)
    threads = state.clients.threads
    subtopology = state.tasks.subtopology[state.tasks.stateful]
    for extra in itertools.count():
        slack = rules.slack + extra
        inner = None if rules.subtopology_slack is None else rules.subtopology_slack + extra
        possible = _even(
            runs[combinations], active_shares(len(tasks), threads), slack, subtopology, rules.subtopology_slack
        )
        if copies:
            shares = standby_shares(len(tasks), copies, threads)
            possible &= _even(has_standby[combinations], shares, slack, subtopology, inner)
        if possible.any():
            repeats = repeat[combinations].sum(axis=1)[possible]
            cost_sum = sum(
                (cost[place, combinations[possible, place]] for place in range(len(tasks))), np.zeros_like(repeats)
            )
            return slack, int(repeats.min()), int(cost_sum[repeats == repeats.min()].min())
    raise AssertionError


def _min_stateless_cost(state: ApplicationState, rules: Rules) -> int:
    tasks = [info for info in state.all_tasks.values() if not info.is_stateful]
    clients = list(state.kafka_streams_states.values())
    cost = np.array([[_stateless_cost(info, client, rules) for client in clients] for info in tasks], dtype=np.int64)
    combinations = np.array(list(itertools.product(range(len(clients)), repeat=len(tasks))), dtype=np.int64)
    runs = np.eye(len(clients), dtype=np.bool_)[combinations]
    subtopology = state.tasks.subtopology[~state.tasks.stateful]
    shares = active_shares(len(tasks), state.clients.threads)
    possible = _even(runs, shares, rules.slack, subtopology, rules.subtopology_slack)
    cost_sum = sum(
        (cost[place, combinations[possible, place]] for place in range(len(tasks))), np.zeros(possible.sum(), np.int64)
    )
    return int(cost_sum.min())


def _even(held: BoolArray, shares: list[Fraction], slack: int, subtopology: IntArray, inner: int | None) -> BoolArray:
    """Return which of K assignments (K, N, C) give all clients their shares, of all tasks and of each subtopology."""
    num_tasks = held.shape[1]
    conditions = [_within(held.sum(axis=1), shares, slack)]
    for number in sorted(set(subtopology.tolist())) if inner is not None else ():
        part = subtopology == number
        parts = [share * int(part.sum()) / num_tasks for share in shares]
        conditions.append(_within(held[:, part].sum(axis=1), parts, inner or 0))
    is_allowed: BoolArray = np.logical_and.reduce(conditions)
    return is_allowed


def _within(loads: IntArray, shares: list[Fraction], slack: int) -> BoolArray:
    least = [share.__floor__() - slack for share in shares]
    most = [share.__ceil__() + slack for share in shares]
    is_allowed: BoolArray = np.logical_and.reduce((loads >= least) & (loads <= most), axis=1)
    return is_allowed


def _remote(task: TaskInfo, client: KafkaStreamsState, *, source: bool) -> int:
    read = [p for p in task.topic_partitions if (p.is_source if source else p.is_changelog)]
    return sum(client.rack_id not in (partition.rack_ids or ()) for partition in read)


def _stateless_cost(task: TaskInfo, client: KafkaStreamsState, rules: Rules) -> int:
    return _remote(task, client, source=True) if rules.copy_cost is None else rules.copy_cost(task, client, False)


def _cost(
    state: ApplicationState, task: TaskInfo, clients: list[KafkaStreamsState], option: Option, rules: Rules
) -> int:
    owner, weights = clients[option.owner], rules.weights
    if rules.copy_cost is not None:
        held = sum(rules.copy_cost(task, clients[number], True) for number in option.standbys)
        return rules.copy_cost(task, owner, False) + held
    cost_sum = weights.traffic_cost * _remote(task, owner, source=True)
    cost_sum += weights.non_overlap_cost * (task.id not in owner.previous_active_tasks)
    lag, most = owner.lag_for(task.id), state.assignment_configs.acceptable_recovery_lag
    if lag > most and any(client.lag_for(task.id) < lag for client in clients):
        cost_sum += rules.downtime_cost
    for number in option.standbys:
        client = clients[number]
        cost_sum += weights.traffic_cost * _remote(task, client, source=False)
        had = task.id in client.previous_active_tasks or task.id in client.previous_standby_tasks
        cost_sum += weights.non_overlap_cost * (not had)
    return cost_sum


def _repeats(state: ApplicationState, clients: list[KafkaStreamsState], option: Option) -> int:
    members = [clients[option.owner], *(clients[number] for number in option.standbys)]
    keys = state.assignment_configs.rack_aware_assignment_tags
    count = 0
    for place in keys or ("rack",):
        values = {_value(client, place, bool(keys)) for client in clients}
        if len(values) > 1:
            count += len(members) - len({_value(client, place, bool(keys)) for client in members})
    return count


def _value(client: KafkaStreamsState, place: str, is_tag: bool) -> str | None:
    return client.client_tags[place] if is_tag else client.rack_id


def with_shuffled_listing(state: ApplicationState, seed: int) -> ApplicationState:
    """Return the same application with its tasks, clients and partitions listed in another order."""
    rng = random.Random(seed)
    tasks = [
        replace(info, topic_partitions=tuple(rng.sample(info.topic_partitions, len(info.topic_partitions))))
        for info in state.all_tasks.values()
    ]
    clients = list(state.kafka_streams_states.values())
    rng.shuffle(tasks)
    rng.shuffle(clients)
    return ApplicationState.of(tasks, clients, state.assignment_configs)
