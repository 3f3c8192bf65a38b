"""Anomalies that are injected into problems: unknown racks, missing lags, invalid previous tasks and so on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def inject_anomaly(rng: random.Random, problem: Json) -> str:
    """Inject one random anomaly into a problem; return its name."""
    name = rng.choice(list(ANOMALIES))
    ANOMALIES[name](rng, problem)
    return name


def _some_partition(rng: random.Random, problem: Json, kind: str) -> str | None:
    names = [name for task in problem["tasks"] for name in task[kind]]
    return rng.choice(names) if names else None


def _rack_unknown(kind: str) -> Callable[[random.Random, Json], None]:
    def change(rng: random.Random, problem: Json) -> None:
        name = _some_partition(rng, problem, kind)
        if name is not None:
            problem["partition_racks"][name] = [*problem["partition_racks"][name], None]

    return change


def _topic_unknown(kind: str) -> Callable[[random.Random, Json], None]:
    def change(rng: random.Random, problem: Json) -> None:
        name = _some_partition(rng, problem, kind)
        if name is not None:
            topic = name.rsplit("-", 1)[0]
            racks = problem["partition_racks"]
            problem["partition_racks"] = {key: racks[key] for key in racks if key.rsplit("-", 1)[0] != topic}

    return change


def _source_unknown(rng: random.Random, problem: Json) -> None:
    name = _some_partition(rng, problem, "source_partitions")
    if name is not None:
        del problem["partition_racks"][name]


def _no_replicas(rng: random.Random, problem: Json) -> None:
    name = _some_partition(rng, problem, "source_partitions")
    if name is not None:
        problem["partition_racks"][name] = []


def _client_without_rack(rng: random.Random, problem: Json) -> None:
    for client in problem["clients"][:1]:
        client["rack"] = None


def _without_partitions(kind: str) -> Callable[[random.Random, Json], None]:
    def change(rng: random.Random, problem: Json) -> None:
        stateful = [task for task in problem["tasks"] if task["stateful"]]
        if stateful:
            rng.choice(stateful)[kind] = []

    return change


def _active_twice(rng: random.Random, problem: Json) -> None:
    tasks = [task["id"] for task in problem["tasks"]]
    for client in problem["clients"]:
        claimed = rng.sample(tasks, len(tasks) // 2)
        client["previous_active"] = claimed
        client["previous_standby"] = [task for task in client["previous_standby"] if task not in claimed]


def _lag_missing(rng: random.Random, problem: Json) -> None:
    for client in problem["clients"][:1]:
        if client["task_lags"]:
            del client["task_lags"][rng.choice(sorted(client["task_lags"]))]


def _no_clients(rng: random.Random, problem: Json) -> None:
    problem["clients"] = []


def _unknown_tag(rng: random.Random, problem: Json) -> None:
    problem["configs"]["rack_aware_assignment_tags"] = ["floor", "zone"]
    problem["configs"]["num_standby_replicas"] = rng.randint(1, 2)


def _no_warmups(rng: random.Random, problem: Json) -> None:
    problem["configs"]["max_warmup_replicas"] = 0


def _many_standbys(rng: random.Random, problem: Json) -> None:
    count = min(len(problem["clients"]), 8)
    problem["configs"]["num_standby_replicas"] = count + rng.randint(0, 3)


def _unknown_task(rng: random.Random, problem: Json) -> None:
    for client in problem["clients"][:2]:
        client["previous_active"].append("97_5")
        client["previous_standby"].append("98_0")


ANOMALIES: dict[str, Callable[[random.Random, Json], None]] = {
    "source_rack_unknown": _rack_unknown("source_partitions"),
    "source_unknown": _source_unknown,
    "source_topic_unknown": _topic_unknown("source_partitions"),
    "source_without_replicas": _no_replicas,
    "changelog_rack_unknown": _rack_unknown("changelog_partitions"),
    "changelog_topic_unknown": _topic_unknown("changelog_partitions"),
    "client_without_rack": _client_without_rack,
    "task_without_source": _without_partitions("source_partitions"),
    "stateful_without_changelog": _without_partitions("changelog_partitions"),
    "active_twice": _active_twice,
    "lag_missing": _lag_missing,
    "no_clients": _no_clients,
    "unknown_tag": _unknown_tag,
    "no_warmups": _no_warmups,
    "many_standbys": _many_standbys,
    "unknown_task": _unknown_task,
}
