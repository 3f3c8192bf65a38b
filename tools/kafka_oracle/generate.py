"""Random problems of every kind, by seed: applications, clients, previous tasks, lags and anomalies."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from scenarios.problems import Problem, solve_problem

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


Json = dict[str, Any]

ASSIGNORS = {"ha": 50, "sticky": 20, "sticky_public": 18, "fallback_prior": 12}
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
