"""Ask every released Kafka the same questions, and store how many answers differ."""

from __future__ import annotations

import datetime
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from assignors import registry
from assignors.kafka_releases import BROKERS, CLIENTS
from reports.analysis import release_differences
from reports.analysis.release_differences import ALL, THREADS
from scenarios.problems import answer_differences
from tools.kafka_group_oracle.lives import answered_problems
from tools.kafka_group_oracle.oracle import run_assignor
from tools.kafka_oracle import threads
from tools.kafka_oracle.generate import generate
from tools.kafka_oracle.oracle import KafkaOracle

ORDERS = ("sorted", "production")


def families(problem: Json) -> Iterator[str]:
    """Yield the families of a problem: the input features that an assignor could read."""
    yield ALL
    configs, clients = problem["configs"], problem["clients"]
    yield "standbys asked for" if configs["num_standby_replicas"] else "no standbys"
    if any(client["previous_active"] or client["previous_standby"] for client in clients):
        yield "previous tasks"
    else:
        yield "no previous tasks"
    strategy = configs.get("rack_aware_assignment_strategy")
    if strategy is not None:
        yield f"rack-aware: {strategy}"
    else:  # a problem of a coordinator, to which members report
        yield "offsets reported" if any(client.get("task_offsets") for client in clients) else "no offsets"


def kind_of_difference(old: Json, new: Json) -> str | None:
    """Return the attribute of `AnswerDifferences` that counts a pair of answers; None if they are the same.

    An exception whose class only moved to another package is the same.
    """
    old, new = ({order: _without_package(answers[order]) for order in ORDERS} for answers in (old, new))
    changed = [order for order in ORDERS if answer_differences(new[order], old[order])]
    if not changed:
        return None
    if len(changed) == 1:
        return "order_only"
    placements = [(old[order]["assignment"], new[order]["assignment"]) for order in ORDERS]
    if any(None in pair for pair in placements):
        return "other"
    for role, kind in (("active", "actives"), ("standby", "standbys")):
        if any(_held(before, role) != _held(after, role) for before, after in placements):
            return kind
    return "other"


def differs_in_production(old: Json, new: Json) -> bool:
    """Return whether the answers for hash collections differ."""
    return bool(answer_differences(_without_package(new["production"]), _without_package(old["production"])))


def _held(assignment: Json, role: str) -> Json:
    return {process: tasks[role] for process, tasks in assignment.items()}


def _without_package(answer: Json) -> Json:
    error = answer["error"]
    return answer if error is None else {**answer, "error": error.partition(":")[0].rpartition(".")[2]}


def without_standbys(problem: Json) -> Json:
    """Return the problem without standbys asked for."""
    return {**problem, "configs": {**problem["configs"], "num_standby_replicas": 0}}


def without_previous_tasks(problem: Json) -> Json:
    """Return the problem as the first assignment of a group."""
    return _with_clients(problem, previous_active=[], previous_standby=[])


def without_offsets(problem: Json) -> Json:
    """Return the problem without offsets that members report."""
    return _with_clients(problem, task_offsets={}, task_end_offsets={})


def without_racks(problem: Json) -> Json:
    """Return the problem without racks, tags and a rack-aware strategy."""
    configs = {**problem["configs"], "rack_aware_assignment_tags": []}
    if "rack_aware_assignment_strategy" in configs:
        configs["rack_aware_assignment_strategy"] = "none"
    return {**_with_clients(problem, rack=None, tags={}), "configs": configs}


FEATURES: Mapping[str, Callable[[Json], Json]] = {
    "standbys": without_standbys,
    "racks": without_racks,
    "offsets": without_offsets,
    "previous tasks": without_previous_tasks,
}


def _with_clients(problem: Json, **changes: Any) -> Json:
    return {**problem, "clients": [{**client, **changes} for client in problem["clients"]]}


Json = dict[str, Any]
Ask = Callable[[str, Sequence[Json]], list[Json]]
"""Asks a patch release about problems; returns the answers in both orders."""

FILE = Path(release_differences.__file__).parent / release_differences.FILE
OUT = Path("out/releases")
"""Folder of the answers; a release that has answered is not asked again, so that an interrupted run can continue."""

STREAMS_GROUP = "streams_group_sticky"
ROUNDS = 4
BATCH = 50
"""Number of problems after which the progress is printed."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Problems with the answers of all releases.

    Attributes:
        ask: asks further problems.
        patches: patch by minor release.
    """

    problems: Sequence[Json]
    answers: Mapping[str, Sequence[Json]]
    ask: Ask
    patches: Mapping[str, str]

    def of(self, assignor: str) -> Answered:
        """Return the problems of one assignor."""
        at = [i for i, problem in enumerate(self.problems) if registry.find(problem["assignor"]).name == assignor]
        answers = {release: [given[i] for i in at] for release, given in self.answers.items()}
        return Answered([self.problems[i] for i in at], answers, self.ask, self.patches)


def measure_clients(seed: int, problems: int) -> Json:
    """Return the records of the assignors of clients, and of the assignment of tasks to threads."""
    generated = list(generate(seed, problems))
    answered = answer_all("clients", generated, seed, ask_clients, CLIENTS)
    names = [registry.find(name).name for name in sorted({problem["assignor"] for problem in generated})]
    records = {name: history(answered.of(name)) for name in names}
    of_threads = list(threads.generate(seed, problems))
    return {**records, THREADS: thread_history(answer_all("threads", of_threads, seed, ask_threads, CLIENTS))}


def measure_brokers(seed: int, groups: int) -> Json:
    """Return the record of the assignor of brokers, on rounds of random groups with the newest release."""
    newest = list(BROKERS.values())[-1]
    lives = answered_problems(newest, range(seed, seed + groups), ROUNDS)
    problems = [json.loads(json.dumps(line["problem"])) for _, line in lives]
    answered = answer_all("brokers", problems, seed, ask_brokers, BROKERS)
    return {STREAMS_GROUP: history(answered)}


def answer_all(name: str, problems: Sequence[Json], seed: int, ask: Ask, patches: Mapping[str, str]) -> Answered:
    """Return the answers of all releases; read those that are stored."""
    answers = {}
    OUT.mkdir(parents=True, exist_ok=True)
    for release, patch in patches.items():
        stored = OUT / f"{name}-{patch}-seed{seed}-{len(problems)}.jsonl"
        if not stored.exists():
            print(f"Kafka {patch}: {len(problems):,} problems ({name})", file=sys.stderr, flush=True)
            lines = "".join(f"{json.dumps(answer)}\n" for answer in ask(patch, problems))
            stored.with_suffix(".part").write_text(lines, encoding="utf-8")
            stored.with_suffix(".part").rename(stored)
        answers[release] = [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
    return Answered(problems, answers, ask, patches)


def ask_clients(patch: str, problems: Sequence[Json]) -> list[Json]:
    """Ask the assignors of a release of `kafka-streams`."""
    with KafkaOracle(patch) as oracle:
        return [answer for _, answer in oracle.ask(problems)]


def ask_threads(patch: str, problems: Sequence[Json]) -> list[Json]:
    """Ask a release of `kafka-streams` to assign tasks to threads."""
    with KafkaOracle(patch, (), main_class=threads.MAIN_CLASS) as oracle:
        return [answer for _, answer in oracle.ask(problems)]


def ask_brokers(patch: str, problems: Sequence[Json]) -> list[Json]:
    """Ask the assignor of a release of `kafka-group-coordinator`."""
    return run_assignor(problems, patch)


def history(answered: Answered) -> Json:
    """Return the record of one assignor: how many answers differ between each two releases."""
    members = [tuple(families(problem)) for problem in answered.problems]
    record: Json = {
        "releases": list(answered.answers),
        "problems": dict(sorted(Counter(family for of_problem in members for family in of_problem).items())),
        "differences": [],
    }
    for older, newer in combinations(answered.answers, 2):
        counts: dict[str, Counter[str]] = {}
        different = []
        pairs = zip(answered.answers[older], answered.answers[newer], strict=True)
        for problem, of_problem, (old, new) in zip(answered.problems, members, pairs, strict=True):
            kind = kind_of_difference(old, new)
            if kind is None:
                continue
            different.append(problem)
            for family in of_problem:
                count = counts.setdefault(family, Counter())
                count[kind] += 1
                count["in_production"] += differs_in_production(old, new)
        if different:
            record["differences"].append(
                {
                    "from": older,
                    "to": newer,
                    "families": {family: dict(sorted(counts[family].items())) for family in sorted(counts)},
                    "equal_without": equal_without(different, answered, older, newer),
                }
            )
    return record


def equal_without(different: Sequence[Json], answered: Answered, older: str, newer: str) -> dict[str, int]:
    """Return how many of the problems with different answers have equal answers without each input feature."""
    counts = {}
    for feature, remove in FEATURES.items():
        reduced = [remove(problem) for problem in different]
        old, new = (answered.ask(answered.patches[release], reduced) for release in (older, newer))
        counts[feature] = sum(kind_of_difference(*pair) is None for pair in zip(old, new, strict=True))
    return counts


def thread_history(answered: Answered) -> Json:
    """Return the record of the assignment of tasks to threads."""
    differences = []
    for older, newer in combinations(answered.answers, 2):
        pairs = list(zip(answered.answers[older], answered.answers[newer], strict=True))
        actives = sum(old["active"] != new["active"] for old, new in pairs)
        different = sum(old != new for old, new in pairs)
        if different:
            counts = {"actives": actives, "standbys": different - actives, "in_production": different}
            differences.append({"from": older, "to": newer, "families": {ALL: counts}, "equal_without": {}})
    return {"releases": list(answered.answers), "problems": {ALL: len(answered.problems)}, "differences": differences}


def store(part: str, patches: Mapping[str, str], command: str, records: Json) -> None:
    """Replace the records of the clients or of the brokers in the stored measurement."""
    content = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"assignors": {}}
    content[part] = {"date": datetime.date.today().isoformat(), "command": command, "patches": dict(patches)}
    content["assignors"] |= records
    ordered = {key: content[key] for key in ("clients", "brokers", "assignors") if key in content}
    FILE.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
