"""Comparison of Kafka and the reimplementation in assigning a client's tasks to its threads."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assignors.java.hash_order import task_hash
from assignors.model.ids import TaskId
from assignors.tasks.thread_assignment import ClientTasks, assign_to_threads
from tools.kafka_oracle.oracle import Oracle

Json = dict[str, Any]

MAIN_CLASS = "org.apache.kafka.streams.processor.internals.OracleThreads"

MAX_THREADS = 12
MAX_TASKS = 60
LAGS = (-3, -2, -2, -2, 0, 0, 0, 7, 100, 20_000)
"""-2 is `Task.LATEST_OFFSET` and -3 `SubscriptionInfo.UNKNOWN_OFFSET_SUM`."""
PREVIOUS_TASK_SCHEMES = ("none", "scattered", "claimed twice", "with one thread", "settled")


def generate(seed: int, number: int) -> Iterator[Json]:
    """Yield the first `number` problems of a seed; each depends only on the seed and its own number."""
    for problem in range(number):
        yield make_problem(random.Random(f"{seed}/{problem}"), f"s{seed}-{problem}")


def make_problem(rng: random.Random, name: str) -> Json:
    """Return a client with 1 to 12 threads, up to 60 tasks, and the previous tasks of its threads.

    Tasks are in the order in which Kafka receives them. A stateful task has a lag; previous tasks may no longer exist.
    """
    threads = rng.choice([1, 2, 3, 4, 4, 8, rng.randint(1, MAX_THREADS)])
    ids = _task_ids(rng, rng.randint(0, rng.choice([8, 24, MAX_TASKS])))
    shares = [rng.random(), rng.choice([0, 0, 0.3]), rng.choice([0, 0.3, 1])]
    kinds = rng.choices(["stateful", "stateless", "standby"], weights=[0.1 + shares[0], *shares[1:]], k=len(ids))
    client: Json = {kind: [] for kind in ("stateful", "stateless", "standby")}
    for task, kind in zip(ids, kinds, strict=True):
        client[kind].append(task)
    elsewhere = _task_ids(rng, rng.choice([0, 0, 5]), first=50)
    lags = {task: rng.choice(LAGS) for task in [*client["stateful"], *client["standby"], *elsewhere]}
    problem = {"pluggable": rng.random() < 0.3, **client, "lags": lags}
    scheme = rng.choice(PREVIOUS_TASK_SCHEMES)
    previous = _previous(rng, scheme, [*ids, *elsewhere, *_task_ids(rng, 3, first=90)], threads)
    if scheme == "settled":
        swapped = {"stateful": client["standby"], "standby": client["stateful"]} if rng.random() < 0.3 else {}
        previous = _changed(rng, _previous_after(our_answer({**problem, **swapped, "previous": [[]] * threads})))
    return {"id": f"{name}-{scheme.replace(' ', '_')}", **problem, "previous": previous}


def our_answer(problem: Json) -> Json:
    """Return the reimplementation's answer `{"active": …, "standby": …}`, the tasks of each thread."""
    kinds = [problem[kind] for kind in ClientTasks._fields]
    names = {name for tasks in [*kinds, *problem["previous"], problem["lags"]] for name in tasks}
    ids = sorted(map(TaskId.parse, names))
    row = {str(task): number for number, task in enumerate(ids)}
    threads = assign_to_threads(
        ClientTasks(*[[row[name] for name in tasks] for tasks in kinds]),
        [[row[name] for name in tasks] for tasks in problem["previous"]],
        {row[name]: lag for name, lag in problem["lags"].items()},
        [task_hash(task) for task in ids],
        pluggable=problem["pluggable"],
    )
    return {role: [[str(ids[task]) for task in tasks] for tasks in lists] for role, lists in threads._asdict().items()}


def compare(oracle: Oracle, problems: Iterable[Json], tally: Counter[str]) -> Iterator[Json]:
    """Run Kafka and the reimplementation on problems and count identical answers in `tally`.

    Yields `{"problem": …, "expected": …}` with Kafka's answer, and `found` if the reimplementation's differs.
    """
    for problem, expected in oracle.ask(problems):
        kind = "pluggable" if problem["pluggable"] else "built-in"
        tally[f"{kind} compared"] += 1
        answer = our_answer(problem)
        agreed = answer == expected
        tally[f"{kind} agreed"] += agreed
        yield {"problem": problem, "expected": expected} | ({} if agreed else {"found": answer})


def render(tally: Counter[str]) -> str:
    """Return one line for each kind of assignor."""
    kinds = ("built-in", "pluggable")
    return "\n".join(
        f"{kind} assignors: {tally[f'{kind} agreed']} of {tally[f'{kind} compared']} agree" for kind in kinds
    )


def write(answered: Sequence[Json], path: Path) -> None:
    """Write answers, one per line, compressed; equal answers give equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{json.dumps(pair)}\n" for pair in answered)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read(path: Path) -> list[Json]:
    """Return recorded answers."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _task_ids(rng: random.Random, number: int, first: int = 0) -> list[str]:
    """Return distinct tasks in random order, of a random number of subtopologies numbered from `first`."""
    subtopologies = rng.randint(1, 12)
    partitions = rng.choice([number, 2 * number, 200]) // subtopologies + 1
    ids = [f"{first + subtopology}_{part}" for subtopology in range(subtopologies) for part in range(partitions)]
    return rng.sample(ids, min(number, len(ids)))


def _previous(rng: random.Random, scheme: str, tasks: Sequence[str], threads: int) -> list[list[str]]:
    """Return random previous tasks of each thread, independent of the assignment."""
    previous: list[list[str]] = [[] for _ in range(threads)]
    owners = {"none": 0, "with one thread": 1, "scattered": 1, "claimed twice": min(2, threads)}.get(scheme, 0)
    candidates = range(1 if scheme == "with one thread" else threads)
    for task in tasks:
        for owner in rng.sample(candidates, rng.randint(min(1, owners), owners) if rng.random() < 0.8 else 0):
            previous[owner].append(task)
    return previous


def _previous_after(answer: Json) -> list[list[str]]:
    """Return the previous tasks of each thread after an answer."""
    return [active + standby for active, standby in zip(answer["active"], answer["standby"], strict=True)]


def _changed(rng: random.Random, previous: list[list[str]]) -> list[list[str]]:
    """Return previous tasks after a few tasks, possibly none, moved or disappeared."""
    for _ in range(rng.choice([0, 0, 1, 3])):
        owner, other = rng.choice(previous), rng.choice(previous)
        if owner:
            moved = owner.pop(rng.randrange(len(owner)))
            if moved not in other and rng.random() < 0.7:
                other.append(moved)
    return previous
