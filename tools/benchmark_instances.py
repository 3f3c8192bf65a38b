"""The instances of AssignorBench: single assignment problems as JSON, by seed, with optima and answers.

An instance of a scenario is the state of the second assignment of its run with Kafka's default assignor, which the
first event of the scenario causes; of the only one, if no event follows. The others are the large assignments of the
standard suite.

The objective is KIP-925's cost with the default weights of Kafka's default assignor: 10 for each partition that a
stateful task or standby reads across racks, 1 for each that a stateless task reads, and 1 for each copy on a client
that did not hold it. The optimum is the minimum over all assignments in which every task is active once, has its
standbys on other clients, and every client has its share by threads, rounded either way, of stateful tasks, of
stateless tasks and of standbys.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from assignors import kafka_releases, registry
from assignors.containment.limits import DEFAULT_LIMITS
from assignors.contract import ROUNDS, carried_out, compute, is_same
from assignors.errors import AssignorError
from assignors.flow import flow_cache
from assignors.kafka_releases import BROKERS, RECORDED_3_9
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.columns import IntArray
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState, previous_holders
from assignors.model.traffic_rates import RateAwareAssignor
from assignors.objective import HIGH_AVAILABILITY_WEIGHTS, compute_cost_and_bound
from assignors.tasks.optimal import Optimal, Separation
from pipeline.review.case_runs import MAX_REBALANCES, Reviewed, load_case
from scenarios.problems import Problem, parse_problem, problem_document, solve_problem
from scenarios.run import run
from scenarios.suite.scale_shapes import SHAPES, ScaleShape, scale_state
from scenarios.suite.standard import SCALE, SuiteCase, benchmark_cases
from simulator.assignment.measures import measure
from simulator.processes.run_options import RunOptions

Row = Mapping[str, str]
Document = dict[str, Any]

STRATEGY = "rack.aware.assignment.strategy"
STRATEGIES = ("none", "min_traffic", "balance_subtopology")
STICKY_COSTS = {"rack.aware.assignment.traffic_cost": 1, "rack.aware.assignment.non_overlap_cost": 10}
"""The defaults of `legacy_sticky`; `sticky_task_assignor` is rack-aware only if both are configured."""

CLIENTS = (RECORDED_3_9, *(kafka_releases.CLIENTS[release] for release in ("4.2", "4.3")))
"""Releases of `kafka-streams` whose classes give the reference answers of this version of the benchmark."""

CLIENT_RELEASE = "4.3"
"""Kafka release of the clients in all scenarios, and of the assignors of clients: the newest one in this version."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An assignor with its configs.

    Attributes:
        name: name in tables, unique.
        java: Kafka's class as released, by release: references of assignors in Java. Empty if it is not Kafka's.
    """

    name: str
    assignor: str
    configs: Mapping[str, Any] = field(default_factory=dict)
    java: Mapping[str, str] = field(default_factory=dict)

    def reviewed(self) -> Reviewed:
        """Return the assignor as other processes run it."""
        return Reviewed.of(self.assignor, self.configs, DEFAULT_LIMITS)


def _of_clients(assignor: str, strategy: str) -> Entry:
    name = assignor if strategy == "none" else f"{assignor} {strategy}"
    costs = STICKY_COSTS if assignor == "sticky_task_assignor" and strategy != "none" else {}
    java = {release: f"java:kafka-streams@{release}:{assignor}" for release in CLIENTS}
    if assignor == "sticky_task_assignor":
        assignor = f"{assignor}@{CLIENT_RELEASE}"
    return Entry(name, assignor, {STRATEGY: strategy, **costs}, java)


def _of_brokers(release: str, patch: str) -> Entry:
    return Entry(
        f"streams_group_sticky@{release}",
        f"streams_group_sticky@{release}",
        {},
        {patch: f"java:kafka-group-coordinator@{patch}:sticky"},
    )


ENTRIES = (
    *(_of_clients("high_availability", strategy) for strategy in STRATEGIES),
    *(_of_clients("legacy_sticky", strategy) for strategy in STRATEGIES),
    *(_of_clients("sticky_task_assignor", strategy) for strategy in STRATEGIES),
    *(_of_brokers(release, BROKERS[release]) for release in ("4.2", "4.3", "4.4")),
    *(
        Entry(name, name)
        for name in (
            "ha_reliable_standbys",
            "ha_current_overlap",
            "ha_subtopology_balance",
            "ha_min_bytes",
            "incremental",
            "optimal",
        )
    ),
)


ASSIGNOR = "high_availability"
STORED_SHAPES = ("200x20",)
"""Large assignments that are stored; the others are generated, since their JSON has up to 90 MB."""

SCALE_SEED = 1


def instance_of(case: SuiteCase) -> Document:
    """Return the instance of a scenario."""
    reviewed = Reviewed.of(ASSIGNOR, {}, DEFAULT_LIMITS)
    scenario = load_case(case, reviewed)
    trace = run(scenario, reviewed.spec(scenario), case.seed, RunOptions(capture=True, max_rebalances=MAX_REBALANCES))
    captured = trace.captured_rounds[min(1, len(trace.captured_rounds) - 1)]
    problem = problem_document(captured.state, f"{case.family}/{case.name.partition(',')[0]}", ASSIGNOR)
    # The rack-aware strategy belongs to the entry, not to the instance.
    problem["configs"]["rack_aware_assignment_strategy"] = str(RackAwareStrategy.NONE)
    return _with_offsets(problem)


def _with_offsets(problem: Document) -> Document:
    """Add the changelog offsets that members of a streams group report, from Kafka 4.4 on: of copies that do not run.

    The simulated classic group reports lags only. The end offset of a changelog is the largest lag of any client, which
    has none of it; a copy has the offset that its lag leaves.
    """
    ends: dict[str, int] = {}
    for client in problem["clients"]:
        for task, lag in client["task_lags"].items():
            ends[task] = max(lag, ends.get(task, 0))
    for client in problem["clients"]:
        held = {task: ends[task] - lag for task, lag in client["task_lags"].items() if 0 <= lag < ends[task]}
        client["task_offsets"] = held
        client["task_end_offsets"] = {task: ends[task] for task in held}
    return problem


def large_instance(shape: ScaleShape) -> Document:
    """Return a large assignment of a new group."""
    return problem_document(scale_state(shape, SCALE_SEED), f"{SCALE}/{shape.name}", ASSIGNOR)


def stored_instances(cases: Iterable[SuiteCase] | None = None) -> Iterator[Document]:
    """Yield the stored instances, in the order of the benchmark."""
    for case in benchmark_cases() if cases is None else cases:
        yield instance_of(case)
    if cases is None:
        yield from (large_instance(shape) for shape in SHAPES if shape.name in STORED_SHAPES)


def generated_instances() -> Iterator[Document]:
    """Yield the large instances that are not stored."""
    yield from (large_instance(shape) for shape in SHAPES if shape.name not in STORED_SHAPES)


def json_line(content: Mapping[str, Any]) -> bytes:
    """Return content as one line of JSON; the same content always gives the same bytes."""
    return (json.dumps(content, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def digest(line: bytes) -> str:
    """Return the SHA-256 of a line, without its newline."""
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def compress(data: bytes) -> bytes:
    """Return data for a .gz file without name and time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf-8") as source:
        return [json.loads(line) for line in source]


MAX_VARIABLES = 50_000
"""Variables above which no integer program is solved; 25,000 stateful tasks times clients."""


FLOW, PROGRAM = "min-cost flow", "min-cost flow or integer program"
"""What proves a bound: with standbys, an integer program where the flows place two copies of a task on one client."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The optimum of an instance.

    Attributes:
        bound: lower bound; equal to `best` if the optimum is proven.
        slack: number of copies by which clients exceed or miss their rounded shares; 0 unless no assignment exists.
        status: `optimal` or `bounded`.
        proof: what proves the bound.
    """

    best: int
    bound: int
    slack: int
    status: str
    proof: str


def find_optimum(state: ApplicationState) -> Optimum | None:
    """Return the optimum of an instance; None if the racks of clients or partitions are unknown."""
    weights = HIGH_AVAILABILITY_WEIGHTS
    if not state.has_known_racks(standbys=True):
        return None
    solution = Optimal(
        traffic_cost=weights.traffic_cost,
        non_overlap_cost=weights.non_overlap_cost,
        apart=Separation.CLIENTS,
        max_variables=MAX_VARIABLES,
    ).solve(state)
    standbys = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
    variables = 2 * int(state.tasks.stateful.sum()) * len(state.clients)
    is_program = standbys > 0 and variables <= MAX_VARIABLES
    return Optimum(
        best=solution.cost,
        bound=solution.bound,
        slack=solution.slack,
        status="optimal" if solution.status == "optimal" else "bounded",
        proof=PROGRAM if is_program else FLOW,
    )


def cost_of(state: ApplicationState, columns: AssignmentColumns) -> int | None:
    """Return the cost of an assignment; None if racks are unknown."""
    found = compute_cost_and_bound(state, columns, HIGH_AVAILABILITY_WEIGHTS)
    return None if found is None else found.cost


def is_balanced(state: ApplicationState, columns: AssignmentColumns, slack: int = 0) -> bool:
    """Return whether an assignment is balanced, so that it cannot cost less than the optimum."""
    stateful, running = state.tasks.stateful, columns.active != UNASSIGNED
    standbys = min(state.assignment_configs.num_standby_replicas, max(len(state.clients) - 1, 0))
    if not running.all() or (columns.standby[stateful].sum(axis=1) != standbys).any():
        return False
    counts = (
        np.bincount(columns.active[stateful], minlength=len(state.clients)),
        np.bincount(columns.active[~stateful], minlength=len(state.clients)),
        columns.standby.sum(axis=0),
    )
    return all(_fits(count, state.clients.threads, slack) for count in counts)


def _fits(count: IntArray, threads: IntArray, slack: int) -> bool:
    total, shares = int(count.sum()), int(threads.sum())
    lowest, highest = total * threads // shares, -(-total * threads // shares)
    return bool(((count >= lowest - slack) & (count <= highest + slack)).all())


SOLUTION_FIELDS = (
    *("instance", "entry", "outcome", "rounds", "balanced", "cost", "cross_rack_source_partitions", "moved_copies"),
    *("load_skew", "subtopology_skew"),
)
_FIELD = {
    "rack.aware.assignment.strategy": "rack_aware_assignment_strategy",
    "rack.aware.assignment.traffic_cost": "rack_aware_traffic_cost",
    "rack.aware.assignment.non_overlap_cost": "rack_aware_non_overlap_cost",
}

ANSWER_FIELDS = ("assignment", "probing_rebalance", "active_cost", "stateless_cost", "standby_cost", "error")


def with_configs(problem: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Return a problem with the assignor and the configs of an entry."""
    changed = {_FIELD[key]: value for key, value in entry.configs.items()}
    return {**problem, "assignor": entry.assignor, "configs": {**problem["configs"], **changed}}


def answer(problem: Mapping[str, Any], entry: Entry, assignor: str | None = None) -> dict[str, Any]:
    """Return the first assignment of an entry, or of another assignor with its configs, without times."""
    info = registry.load(assignor or entry.assignor)
    # Costs are those of the registered assignor, whose defaults Kafka's class has.
    weights = registry.find(entry.assignor).weights
    solved = solve_problem(Problem(1, with_configs(problem, entry)), str(problem["id"]), replace(info, weights=weights))
    return {key: solved[key] for key in ANSWER_FIELDS}


def evaluate(problem: Mapping[str, Any], entry: Entry, optimum: Optimum | None) -> dict[str, str]:
    """Return the figures of the final assignment of an entry for an instance, as a row of CSV.

    Every copy of an assignment has caught up before the next rebalance, of which there are at most 50.
    """
    state = parse_problem(with_configs(problem, entry))
    row = dict.fromkeys(SOLUTION_FIELDS, "") | {"instance": str(problem["id"]), "entry": entry.name}
    assignor = entry.reviewed().make()
    if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
        return row | {"outcome": "needs rates"}
    try:
        final, rounds = _settled(state, assignor)
    except AssignorError as error:
        return row | {"outcome": f"error: {error}"}
    if final is None:
        return row | {"outcome": "not settled"}
    figures = measure(state, final)
    cost = cost_of(state, final)
    remote = figures.cross_rack_source_partitions
    return row | {
        "outcome": "settled",
        "rounds": str(rounds),
        "balanced": str(int(is_balanced(state, final, optimum.slack if optimum else 0))),
        "cost": "" if cost is None else str(cost),
        "cross_rack_source_partitions": "" if remote is None else str(remote),
        "moved_copies": str(_moved(state, final)),
        "load_skew": f"{figures.load_skew:.10g}",
        "subtopology_skew": str(figures.subtopology_skew),
    }


def _settled(state: ApplicationState, assignor: TaskAssignor) -> tuple[AssignmentColumns | None, int]:
    """Return the assignment that two rebalances in a row give, and the number of rebalances to it; None without."""
    configs = state.assignment_configs
    warmups = max(len(state.tasks), configs.max_warmup_replicas)
    current = replace(state, assignment_configs=replace(configs, max_warmup_replicas=warmups))
    last: AssignmentColumns | None = None
    for number in range(1, ROUNDS + 1):
        found = compute(current, assignor)
        if last is not None and is_same(found, last):
            return found, number - 1
        last, current = found, carried_out(current, found)
    return None, ROUNDS


def _moved(state: ApplicationState, columns: AssignmentColumns) -> int:
    """Return the number of copies of stateful tasks on clients that held no copy of the task."""
    _, held = previous_holders(state)
    placed = columns.standby.copy()
    placed[np.arange(len(state.tasks)), columns.active] = True
    return int((placed & ~held)[state.tasks.stateful].sum())


KAFKAS = tuple(entry for entry in ENTRIES if entry.java)


class DifferentAnswerError(Exception):
    """An assignor of this project and Kafka's class give different answers."""


def reference_answers(
    problems: Sequence[Mapping[str, Any]],
    entries: Iterable[Entry] = KAFKAS,
    on_progress: Callable[[str], None] = lambda text: None,
) -> Iterator[dict[str, Any]]:
    """Yield the answers of Kafka's classes, each with the releases that give it.

    Raises DifferentAnswerError if the assignor of this project with the same name gives another answer.
    """
    for entry in entries:
        on_progress(entry.name)
        for problem in problems:
            yield from _answers(problem, entry)


def _answers(problem: Mapping[str, Any], entry: Entry) -> Iterator[dict[str, Any]]:
    own = comparable(answer(problem, entry))
    for release, java in entry.java.items():
        released = comparable(answer(problem, entry, java))
        if released != own:
            raise DifferentAnswerError(f"{problem['id']}, {entry.name}, Kafka {release}: {released} instead of {own}")
    yield {"id": problem["id"], "entry": entry.name, "kafka": list(entry.java), "answer": own}


def comparable(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer with the class of its error only, whose text differs between releases."""
    error = found["error"]
    return {**found, "error": error and str(error).partition(":")[0]}


MANIFEST_FIELDS = (
    *("id", "sha256", "stored", "tasks", "stateful", "clients", "threads", "racks", "standbys"),
    *("best", "bound", "status", "slack", "proof"),
)


def manifest_row(problem: Mapping[str, Any], optimum: Optimum | None, *, stored: bool) -> Row:
    """Return the row of an instance: its digest, its size and its optimum."""
    clients, tasks = problem["clients"], problem["tasks"]
    known = asdict(optimum) if optimum else {"status": "unknown racks"}
    return {
        **dict.fromkeys(MANIFEST_FIELDS, ""),
        "id": problem["id"],
        "sha256": digest(json_line(problem)),
        "stored": str(int(stored)),
        "tasks": str(len(tasks)),
        "stateful": str(sum(task["stateful"] for task in tasks)),
        "clients": str(len(clients)),
        "threads": str(sum(client["threads"] for client in clients)),
        "racks": str(len({client["rack"] for client in clients} - {None})),
        "standbys": str(problem["configs"]["num_standby_replicas"]),
        **{key: str(value) for key, value in known.items()},
    }


def solutions(
    problems: Sequence[Mapping[str, Any]],
    optima: Mapping[str, Optimum | None],
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Return the final assignment of each entry for each instance."""
    rows = []
    for entry in ENTRIES:
        on_progress(entry.name)
        with flow_cache():
            rows += [evaluate(problem, entry, optima[problem["id"]]) for problem in problems]
    return rows


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a .jsonl.gz file, unless it has the same lines already: other releases of zlib compress differently."""
    content = [dict(line) for line in lines]
    if not path.is_file() or read_lines(path) != content:
        path.write_bytes(compress(b"".join(map(json_line, content))))
