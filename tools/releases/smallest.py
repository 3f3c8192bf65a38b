"""The smallest problem that two releases of an assignor answer differently, drawn with growing size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, Final

from assignors import registry
from scenarios.problems import Problem, solve_problem

_DRAWS: Final = 400
"""Problems of each number of tasks, processes and standbys."""

_MAX_TASKS: Final = 5
_MAX_PROCESSES: Final = 3
_RECORDS: Final = 100
"""Records of each changelog."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SmallestCase:
    """A problem with the answers of two releases, which differ.

    Attributes:
        problem: the problem, as in `scenarios.problems`.
        older: the assignment of the older release.
        newer: that of the newer one.
    """

    problem: Json
    older: Json
    newer: Json

    @property
    def standbys(self) -> int:
        """`num.standby.replicas`."""
        return int(self.problem["configs"]["num_standby_replicas"])


def smallest_case(name: str, older: str, newer: str, *, by_offsets: bool = False) -> SmallestCase | None:
    """Return the smallest problem found, by tasks, processes and standbys, then threads and previous tasks.

    `by_offsets`: whether the answers must be the same when the processes report no offsets. Returns None if all drawn
    problems have the same answers. Problems depend on their size only.
    """
    infos = [registry.find(f"{name}@{release}") for release in (older, newer)]

    def answers(problem: Json) -> list[Json]:
        return [solve_problem(Problem(0, problem), "drawn", info)["assignment"] for info in infos]

    sizes = product(range(1, _MAX_TASKS + 1), range(1, _MAX_PROCESSES + 1), range(2))
    for size in sorted(sizes, key=lambda size: (sum(size), size)):
        cases = []
        for problem in _problems(*size):
            given = answers(problem)
            if _differs(given) and not (by_offsets and _differs(answers(_without_offsets(problem)))):
                cases.append(SmallestCase(problem, *given))
        if cases:
            return min(cases, key=lambda case: _details(case.problem))
    return None


def _differs(answers: list[Json]) -> bool:
    return answers[0] != answers[1]


def _without_offsets(problem: Json) -> Json:
    return {**problem, "clients": [{**client, "task_offsets": {}} for client in problem["clients"]]}


def _problems(tasks: int, processes: int, standbys: int) -> Iterator[Json]:
    """Yield random problems of a size: one subtopology with state, and processes that had some of its tasks."""
    names = [f"0_{number}" for number in range(tasks)]
    for number in range(_DRAWS):
        draw = Random(f"{tasks}/{processes}/{standbys}/{number}")
        clients = [
            {
                "process_id": f"00000000-0000-0000-0000-00000000000{place + 1}",
                "threads": draw.randint(1, 2),
                "previous_active": [],
                "previous_standby": [],
                "task_offsets": {},
            }
            for place in range(processes)
        ]
        reports = draw.random() < 0.5
        for name in names:
            holders = draw.sample(range(processes), draw.randint(0, processes))
            for holder in holders:
                is_active = holder == holders[0] and draw.random() < 0.7
                clients[holder]["previous_active" if is_active else "previous_standby"].append(name)
                if reports:
                    clients[holder]["task_offsets"][name] = draw.choice((0, _RECORDS // 2, _RECORDS))
        yield {
            "assignor": "",
            "configs": {"num_standby_replicas": standbys},
            "tasks": [
                {
                    "id": name,
                    "stateful": True,
                    "source_partitions": [f"in-{place}"],
                    "changelog_partitions": [f"changelog-{place}"],
                }
                for place, name in enumerate(names)
            ],
            "clients": clients,
        }


def _details(problem: Json) -> tuple[int, ...]:
    clients = problem["clients"]
    keys = ("task_offsets", "previous_standby", "previous_active")
    counts = (sum(len(client[key]) for client in clients) for key in keys)
    return (sum(client["threads"] for client in clients), *counts)


def case_rows(case: SmallestCase) -> Iterator[list[str]]:
    """Yield a row for each process: its letter, threads, what it had and reported, and what each release gives it."""
    for place, client in enumerate(case.problem["clients"]):
        before = _tasks(client["previous_active"], client["previous_standby"])
        if client["task_offsets"]:
            offsets = ", ".join(f"{name} at {offset}" for name, offset in sorted(client["task_offsets"].items()))
            before += f"; reports {offsets}"
        given = (answer[client["process_id"]] for answer in (case.older, case.newer))
        yield ["ABC"[place], str(client["threads"]), before, *(_tasks(one["active"], one["standby"]) for one in given)]


def _tasks(active: list[str], standby: list[str]) -> str:
    parts = [", ".join(active), f"standby {', '.join(standby)}" if standby else ""]
    return "; ".join(filter(None, parts)) or "–"
