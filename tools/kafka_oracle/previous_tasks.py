"""Random previous tasks and lags of clients, from none to Kafka's special values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

RUNNING = -2
"""Lag of an active task (`Task.LATEST_OFFSET`)."""
UNKNOWN = -3
"""Lag for an unknown offset (`SubscriptionInfo.UNKNOWN_OFFSET_SUM`)."""
END_OFFSETS = (0, 1, 150_000, 150_000, 150_000, 2**63 - 1)


def assign_previous_tasks(
    rng: random.Random, tasks: Sequence[Json], clients: Sequence[Json], acceptable_lag: int
) -> str:
    """Set previous tasks and lags of all clients by a random scheme; return the scheme's name."""
    kind = rng.choices(
        ["fresh", "settled", "moving", "scattered", "edges", "unknown"], weights=(12, 28, 25, 20, 12, 3)
    )[0]
    stateful = [task["id"] for task in tasks if task["stateful"]]
    ends = {task: rng.choice(END_OFFSETS) for task in stateful}
    for client in clients:
        client["task_lags"] = dict(ends)
    if kind in ("settled", "moving"):
        for task in tasks:
            _assign_owner(rng, task, clients, acceptable_lag if kind == "moving" else 0)
    elif kind == "scattered":
        for client in clients:
            _scatter(rng, client, tasks)
    elif kind == "edges":
        for client in clients:
            _scatter(rng, client, tasks)
            client["task_lags"] = {task: edge_lag(rng, acceptable_lag, ends[task]) for task in stateful}
    elif kind == "unknown":
        for client in clients:
            client["task_lags"] = dict.fromkeys(stateful, UNKNOWN)
    for client in clients:
        rng.shuffle(client["previous_active"])
        rng.shuffle(client["previous_standby"])
    return kind


def edge_lag(rng: random.Random, acceptable_lag: int, end: int) -> int:
    """Return a random lag: one of Kafka's special values, near the acceptable lag, or small."""
    near = [lag for lag in (acceptable_lag - 1, acceptable_lag, acceptable_lag + 1) if 0 <= lag < 2**63]
    return rng.choice([UNKNOWN, RUNNING, 0, 1, *near, end, rng.randint(0, 20_000)])


def _assign_owner(rng: random.Random, task: Json, clients: Sequence[Json], acceptable_lag: int) -> None:
    """Give a task one active owner and a few standbys, which lag if `acceptable_lag` is positive."""
    if rng.random() < 0.1:
        return
    owner, *others = rng.sample(clients, min(len(clients), 1 + rng.choice([0, 0, 1, 1, 2])))
    owner["previous_active"].append(task["id"])
    if not task["stateful"]:
        return
    end = owner["task_lags"][task["id"]]
    owner["task_lags"][task["id"]] = RUNNING
    for other in others:
        other["previous_standby"].append(task["id"])
        lag = rng.choice([0, acceptable_lag, acceptable_lag + 1, 2 * acceptable_lag + 5]) if acceptable_lag else 0
        other["task_lags"][task["id"]] = min(lag, end)


def _scatter(rng: random.Random, client: Json, tasks: Sequence[Json]) -> None:
    """Give a client random copies of tasks, independent of other clients; a task may have several owners."""
    for task in tasks:
        if rng.random() < 0.25:
            role = "previous_active" if rng.random() < 0.4 or not task["stateful"] else "previous_standby"
            client[role].append(task["id"])
            if task["stateful"]:
                client["task_lags"][task["id"]] = rng.choice([RUNNING, 0, 0, 50, 5_000, 20_000])
