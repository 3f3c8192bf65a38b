"""Random applications, racks and clients, in the format of problem files (docs/reference/problems.md)."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

RACKS = ("rack-a", "rack-b", "rack-c", "rack-d", "rack-e", "rack-f")
TAG_VALUES = {"zone": "xyzw", "cluster": "123", "env": "pq"}


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """Maximum size of an application."""

    name: str
    max_tasks: int
    max_clients: int


SIZES = (
    ProblemSize("tiny", 12, 4),
    ProblemSize("small", 30, 7),
    ProblemSize("medium", 80, 14),
    ProblemSize("large", 170, 32),
)
HUGE = ProblemSize("huge", 600, 100)
"""Only without rack awareness: Kafka's rack-aware optimization takes minutes at this size."""

MAX_EQUAL_HASHES = 24
"""Maximum number of clients with pairwise equal hash codes, so that no hash bin becomes a tree."""


def pick_size(rng: random.Random, strategy: str) -> ProblemSize:
    """Return a random size, small ones more often."""
    if strategy == "none" and rng.random() < 0.02:
        return HUGE
    return rng.choices(SIZES, weights=(25, 35, 35, 5))[0]


def random_configs(rng: random.Random, strategy: str) -> Json:
    """Return random configs, including Kafka's defaults."""
    standbys = rng.choices((0, 1, 2, 3), weights=(30, 38, 22, 10))[0]
    tagged = standbys > 0 and rng.random() < 0.35
    return {
        "acceptable_recovery_lag": rng.choice([0, 100, 100, 10_000, 10_000, 2**63 - 1]),
        "max_warmup_replicas": rng.choice([1, 1, 2, 2, 3, rng.randint(4, 10)]),
        "num_standby_replicas": standbys,
        "probing_rebalance_interval_ms": 600_000,
        "rack_aware_assignment_tags": rng.choice([["zone"], ["cluster"], ["zone", "cluster"]]) if tagged else [],
        "rack_aware_traffic_cost": rng.choice([None, None, 0, 1, 1, 10, 10, 100]),
        "rack_aware_non_overlap_cost": rng.choice([None, None, 0, 0, 1, 1, 10, 100]),
        "rack_aware_assignment_strategy": strategy,
    }


def random_tasks(rng: random.Random, max_tasks: int) -> list[Json]:
    """Return tasks of random subtopologies: stateless or stateful, with one or several topics or a source changelog."""
    tasks: list[Json] = []
    left = rng.randint(0, max_tasks)
    subtopology = 0
    most_partitions = max(1, rng.choice([left, left // 2, left // 5]))
    while left > 0:
        partitions = min(left, rng.randint(1, most_partitions))
        stateful = rng.random() < 0.7
        sources = [f"in{subtopology}_{n}" for n in range(rng.choice([1, 1, 1, 2, 3]))]
        changelogs = [f"log{subtopology}_{n}" for n in range(rng.choice([1, 1, 2]) if stateful else 0)]
        if stateful and rng.random() < 0.1:
            changelogs[0] = sources[0]
        tasks += [_task(subtopology, partition, stateful, sources, changelogs) for partition in range(partitions)]
        left -= partitions
        subtopology += 1 if rng.random() < 0.9 else rng.randint(2, 9)
    return tasks


def _task(subtopology: int, partition: int, stateful: bool, sources: Sequence[str], logs: Sequence[str]) -> Json:
    return {
        "id": f"{subtopology}_{partition}",
        "stateful": stateful,
        "source_partitions": [f"{topic}-{partition}" for topic in sources],
        "changelog_partitions": [f"{topic}-{partition}" for topic in logs],
    }


def random_racks(rng: random.Random, tasks: Sequence[Json], racks: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the racks of each partition's replicas: spread as by Kafka, random, or skewed to the first racks."""
    names = [name for task in tasks for name in [*task["source_partitions"], *task["changelog_partitions"]]]
    replicas = rng.choice([1, 1, 2, 2, 3])
    scheme = rng.choice(["spread", "random", "random", "crowded"])
    placed: dict[str, list[str | None]] = {}
    for number, name in enumerate(dict.fromkeys(names)):
        if scheme == "spread":
            placed[name] = [racks[(number + copy) % len(racks)] for copy in range(replicas)]
        elif scheme == "random":
            placed[name] = [rng.choice(racks) for _ in range(replicas)]
        else:
            placed[name] = [racks[min(rng.randrange(len(racks)), rng.randrange(len(racks)))]] * replicas
    return placed


def random_clients(rng: random.Random, count: int, racks: Sequence[str], tag_keys: Sequence[str]) -> list[Json]:
    """Return clients without previous tasks, in random order."""
    ids = random_process_ids(rng, count)
    threads = rng.choice([(1,), (1,), (4,), range(1, 9), (1, 1, 1, 1, 50)])
    scheme = rng.choice(["in turn", "at random", "skewed", "elsewhere"])

    def rack(number: int) -> str:
        if scheme == "in turn":
            return racks[number % len(racks)]
        if scheme == "elsewhere" and rng.random() < 0.3:
            return "rack-z"
        return racks[0] if scheme == "skewed" and rng.random() < 0.6 else rng.choice(racks)

    keys = [*tag_keys, *rng.sample(list(TAG_VALUES), rng.choice([0, 0, 1]))] if tag_keys else []
    return [
        {
            "process_id": str(process_id),
            "rack": rack(number),
            "threads": rng.choice(threads),
            "tags": {key: rng.choice(TAG_VALUES[key]) for key in dict.fromkeys(keys) if rng.random() < 0.95},
            "previous_active": [],
            "previous_standby": [],
            "task_lags": {},
        }
        for number, process_id in enumerate(ids)
    ]


def random_process_ids(rng: random.Random, count: int) -> list[uuid.UUID]:
    """Return distinct ids: random as in production, numbers as in Kafka's tests, or pairs with equal hash codes.

    There are no such pairs among many clients: they would cause a hash bin of more than 8 keys (a tree), which the
    reimplementation does not support.
    """
    scheme = rng.choice(["random", "random", "numbers", "alike" if count <= MAX_EQUAL_HASHES else "random"])
    half = (1 << 64) - 1
    mixes = [rng.getrandbits(64) for _ in range(1 + count // 2)]
    ids: list[uuid.UUID] = []
    while len(ids) < count:
        if scheme == "random":
            bits = rng.getrandbits(128)
        elif scheme == "numbers":
            bits = len(ids) + 1
        else:
            high, mix = rng.getrandbits(64), mixes[len(ids) % len(mixes)]
            bits = high << 64 | ((high ^ mix) & half)
        process_id = uuid.UUID(int=bits)
        if process_id not in ids:
            ids.append(process_id)
    rng.shuffle(ids)
    return ids
