"""What clients had before: owners, copies and lags, from nothing at all to the odd values that Kafka knows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

RUNNING = -2
"""The lag of a task that runs there (`Task.LATEST_OFFSET`)."""
UNKNOWN = -3
"""The lag where the offset is not known (`SubscriptionInfo.UNKNOWN_OFFSET_SUM`)."""
END_OFFSETS = (0, 1, 150_000, 150_000, 150_000, 2**63 - 1)


def give_past(rng: random.Random, tasks: Sequence[Json], clients: Sequence[Json], acceptable_lag: int) -> str:
    """Fill in previous tasks and lags of all clients; returns the name of the kind of past."""
    kind = rng.choices(
        ["fresh", "settled", "moving", "scattered", "edges", "unknown"], weights=(12, 28, 25, 20, 12, 3)
    )[0]
    stateful = [task["id"] for task in tasks if task["stateful"]]
    ends = {task: rng.choice(END_OFFSETS) for task in stateful}
    for client in clients:
        client["task_lags"] = dict(ends)
    if kind in ("settled", "moving"):
        for task in tasks:
            _give_owner(rng, task, clients, acceptable_lag if kind == "moving" else 0)
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
    """A lag on either side of a border that Kafka's assignors draw."""
    near = [lag for lag in (acceptable_lag - 1, acceptable_lag, acceptable_lag + 1) if 0 <= lag < 2**63]
    return rng.choice([UNKNOWN, RUNNING, 0, 1, *near, end, rng.randint(0, 20_000)])


def _give_owner(rng: random.Random, task: Json, clients: Sequence[Json], acceptable_lag: int) -> None:
    """One owner, who runs it, and a few others with copies; those are behind if there is a lag to be behind."""
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
    """Copies of any task with any client, whatever the others have; a task may have several claimed owners."""
    for task in tasks:
        if rng.random() < 0.25:
            role = "previous_active" if rng.random() < 0.4 or not task["stateful"] else "previous_standby"
            client[role].append(task["id"])
            if task["stateful"]:
                client["task_lags"][task["id"]] = rng.choice([RUNNING, 0, 0, 50, 5_000, 20_000])
