"""Random problems of every kind, reproducible from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

from scenarios.problems import Problem, solve_problem
from tools.kafka_oracle.anomalies import inject_anomaly
from tools.kafka_oracle.previous_tasks import END_OFFSETS, RUNNING, assign_previous_tasks
from tools.kafka_oracle.random_applications import (
    RACKS,
    ProblemSize,
    pick_size,
    random_clients,
    random_configs,
    random_racks,
    random_tasks,
)

Json = dict[str, Any]

ASSIGNORS = {"ha": 50, "sticky": 20, "sticky_public": 18, "fallback_prior": 12}
"""Relative frequency of each assignor."""
STRATEGIES = ("none", "min_traffic", "balance_subtopology")
ANOMALY_SHARE = 0.08
SEQUENCE_SHARE = 0.08
"""Share of families that are sequences of rebalances; they have about a third of all problems."""
MAX_ROUNDS = 9


def generate(seed: int, number: int) -> Iterator[Json]:
    """Return the first `number` problems of a seed; a longer run starts with the same problems."""
    return islice((problem for family in count() for problem in make_family(seed, family)), number)


def make_family(seed: int, family: int) -> Iterator[Json]:
    """Yield the problems of one family, which depend only on the seed and its number: one, or a sequence of rounds."""
    rng = random.Random(f"{seed}/{family}")
    assignor = rng.choices(list(ASSIGNORS), weights=list(ASSIGNORS.values()))[0]
    strategy = rng.choice(STRATEGIES)
    is_sequence = rng.random() < SEQUENCE_SHARE
    size = pick_size(rng, "racks" if is_sequence else strategy)
    problem = _world(rng, assignor, strategy, size)
    if is_sequence:
        yield from _rounds(rng, problem, f"s{seed}-{family}-rounds-{assignor}-{strategy}-{size.name}")
        return
    kind = assign_previous_tasks(
        rng, problem["tasks"], problem["clients"], problem["configs"]["acceptable_recovery_lag"]
    )
    if rng.random() < ANOMALY_SHARE:
        kind = inject_anomaly(rng, problem)
    yield _named_and_shuffled(rng, f"s{seed}-{family}-{assignor}-{strategy}-{size.name}-{kind}", problem)


def _world(rng: random.Random, assignor: str, strategy: str, size: ProblemSize) -> Json:
    """Return a problem whose clients have no previous tasks yet."""
    configs = random_configs(rng, strategy)
    tasks = random_tasks(rng, size.max_tasks)
    racks = RACKS[: rng.randint(1, len(RACKS))]
    clients = rng.randint(1 + size.max_clients // 4, size.max_clients)
    return {
        "assignor": assignor,
        "configs": configs,
        "tasks": tasks,
        "partition_racks": random_racks(rng, tasks, racks),
        "clients": random_clients(rng, clients, racks, configs["rack_aware_assignment_tags"]),
    }


def _named_and_shuffled(rng: random.Random, name: str, problem: Json) -> Json:
    """Return the problem with an id, and with tasks and clients in random order."""
    tasks, clients = list(problem["tasks"]), list(problem["clients"])
    rng.shuffle(tasks)
    rng.shuffle(clients)
    return {"id": name, **problem, "tasks": tasks, "clients": clients}


def _rounds(rng: random.Random, problem: Json, name: str) -> Iterator[Json]:
    """Yield rounds of a group whose clients join and leave; each answer provides the next round's previous tasks."""
    end = rng.choice(END_OFFSETS)
    all_clients = problem["clients"]
    for client in all_clients:
        client["task_lags"] = {task["id"]: end for task in problem["tasks"] if task["stateful"]}
    members = all_clients[: rng.randint(1, len(all_clients))]
    catch_up_probability = rng.choice([1.0, 0.7, 0.3])
    for round_number in range(rng.randint(2, MAX_ROUNDS)):
        shuffled = _named_and_shuffled(
            rng, f"{name}/r{round_number}", {**problem, "clients": [_copy(c) for c in members]}
        )
        yield shuffled
        answered = solve_problem(Problem(round_number, shuffled), name)
        if answered["error"] is not None:
            return
        for client in members:
            _update_client(rng, client, answered["assignment"][client["process_id"]], end, catch_up_probability)
        members = _change_members(rng, members, all_clients)


def _copy(client: Json) -> Json:
    kept = {key: list(client[key]) for key in ("previous_active", "previous_standby")}
    return {**client, **kept, "task_lags": dict(client["task_lags"])}


def _update_client(rng: random.Random, client: Json, given: Json, end: int, catch_up_probability: float) -> None:
    """Update a client until the next round: it runs its active tasks, and some standbys catch up."""
    client["previous_active"], client["previous_standby"] = list(given["active"]), list(given["standby"])
    lags: dict[str, int] = client["task_lags"]
    for task, lag in lags.items():
        if task in given["active"]:
            lags[task] = RUNNING
        elif task in given["standby"]:
            lags[task] = 0 if rng.random() < catch_up_probability else max(lag, 0) // 2
        elif lag != end:
            lags[task] = min(end, max(lag, 0) + 20_000)


def _change_members(rng: random.Random, members: Sequence[Json], all_clients: Sequence[Json]) -> list[Json]:
    """Return the next members: a client may join or leave; a returning client has its copies but no active task."""
    staying = list(members)
    absent = [client for client in all_clients if client not in members]
    if absent and rng.random() < 0.4:
        joining = rng.choice(absent)
        joining["previous_standby"] += joining["previous_active"]
        joining["previous_active"] = []
        joining["task_lags"] = {task: max(lag, 0) for task, lag in joining["task_lags"].items()}
        stateful = joining["task_lags"].keys()
        joining["previous_standby"] = [task for task in joining["previous_standby"] if task in stateful]
        staying.append(joining)
    if len(staying) > 1 and rng.random() < 0.3:
        staying.remove(rng.choice(members))
    return staying
