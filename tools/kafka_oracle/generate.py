"""Fresh random problems of every kind, all rebuilt by one seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

from scenarios.problems import Problem, solve_problem
from tools.kafka_oracle.anomalies import make_odd
from tools.kafka_oracle.previous_tasks import END_OFFSETS, RUNNING, give_past
from tools.kafka_oracle.random_applications import (
    RACKS,
    Size,
    pick_size,
    random_clients,
    random_configs,
    random_racks,
    random_tasks,
)

Json = dict[str, Any]

ASSIGNORS = {"ha": 50, "sticky": 20, "sticky_public": 18, "fallback_prior": 12}
"""How often each is asked."""
STRATEGIES = ("none", "min_traffic", "balance_subtopology")
ODD_SHARE = 0.08
LIFE_SHARE = 0.08
"""How many of the families are lives, of several rounds each: about a third of all problems."""
MOST_ROUNDS = 9


def generate(seed: int, number: int) -> Iterator[Json]:
    """The first `number` problems of a seed; a longer run begins with the same ones."""
    return islice((problem for family in count() for problem in make_family(seed, family)), number)


def make_family(seed: int, family: int) -> Iterator[Json]:
    """The problems of one family, which depend on the seed and its number alone: a single one, or a life's rounds."""
    rng = random.Random(f"{seed}/{family}")
    assignor = rng.choices(list(ASSIGNORS), weights=list(ASSIGNORS.values()))[0]
    strategy = rng.choice(STRATEGIES)
    lives = rng.random() < LIFE_SHARE
    size = pick_size(rng, "racks" if lives else strategy)
    problem = _world(rng, assignor, strategy, size)
    if lives:
        yield from _live(rng, problem, f"s{seed}-{family}-life-{assignor}-{strategy}-{size.name}")
        return
    kind = give_past(rng, problem["tasks"], problem["clients"], problem["configs"]["acceptable_recovery_lag"])
    if rng.random() < ODD_SHARE:
        kind = make_odd(rng, problem)
    yield _listed(rng, f"s{seed}-{family}-{assignor}-{strategy}-{size.name}-{kind}", problem)


def _world(rng: random.Random, assignor: str, strategy: str, size: Size) -> Json:
    """A problem whose clients have no past yet."""
    configs = random_configs(rng, strategy)
    tasks = random_tasks(rng, size.most_tasks)
    racks = RACKS[: rng.randint(1, len(RACKS))]
    clients = rng.randint(1 + size.most_clients // 4, size.most_clients)
    return {
        "assignor": assignor,
        "configs": configs,
        "tasks": tasks,
        "partition_racks": random_racks(rng, tasks, racks),
        "clients": random_clients(rng, clients, racks, configs["rack_aware_assignment_tags"]),
    }


def _listed(rng: random.Random, name: str, problem: Json) -> Json:
    """The problem under its name, with tasks and clients listed in a new order."""
    tasks, clients = list(problem["tasks"]), list(problem["clients"])
    rng.shuffle(tasks)
    rng.shuffle(clients)
    return {"id": name, **problem, "tasks": tasks, "clients": clients}


def _live(rng: random.Random, problem: Json, name: str) -> Iterator[Json]:
    """Rounds of a group whose clients come and go; each answer is the next round's past."""
    end = rng.choice(END_OFFSETS)
    everybody = problem["clients"]
    for client in everybody:
        client["task_lags"] = {task["id"]: end for task in problem["tasks"] if task["stateful"]}
    members = everybody[: rng.randint(1, len(everybody))]
    haste = rng.choice([1.0, 0.7, 0.3])
    for round_number in range(rng.randint(2, MOST_ROUNDS)):
        listed = _listed(rng, f"{name}/r{round_number}", {**problem, "clients": [_copy(c) for c in members]})
        yield listed
        answered = solve_problem(Problem(round_number, listed), name)
        if answered["error"] is not None:
            return
        for client in members:
            _take_over(rng, client, answered["assignment"][client["process_id"]], end, haste)
        members = _come_and_go(rng, members, everybody)


def _copy(client: Json) -> Json:
    kept = {key: list(client[key]) for key in ("previous_active", "previous_standby")}
    return {**client, **kept, "task_lags": dict(client["task_lags"])}


def _take_over(rng: random.Random, client: Json, given: Json, end: int, haste: float) -> None:
    """The client works on what it was given until the next round: actives run, some standbys catch up."""
    client["previous_active"], client["previous_standby"] = list(given["active"]), list(given["standby"])
    lags: dict[str, int] = client["task_lags"]
    for task, lag in lags.items():
        if task in given["active"]:
            lags[task] = RUNNING
        elif task in given["standby"]:
            lags[task] = 0 if rng.random() < haste else max(lag, 0) // 2
        elif lag != end:
            lags[task] = min(end, max(lag, 0) + 20_000)


def _come_and_go(rng: random.Random, members: Sequence[Json], everybody: Sequence[Json]) -> list[Json]:
    """Perhaps somebody joins or leaves; who comes back still has its copies, but runs nothing."""
    staying = list(members)
    absent = [client for client in everybody if client not in members]
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
