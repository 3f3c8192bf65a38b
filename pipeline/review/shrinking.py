"""Shrinking of a scenario in which an assignor violates an invariant: fewest clients, events and tasks.

Guarantees: the result violates the same invariant with the same seed; the search is deterministic, and ends.
`find_smallest` shrinks for any other goal, such as a value of a metric.

Priority: clients, events, subtopologies, partitions, threads and standbys, then all settings that may have defaults.

Complexity: at most `MAX_RUNS` runs of the scenario, or those of the goal, fewer if calls time out or end their process.

Source: A. Zeller, R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE Transactions on Software
Engineering 28 (2002): lists are reduced by halves, then by single entries, until no entry can be removed.

Each reduction of a scenario yields smaller ones; a search keeps those that reach its goal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from assignors.contract import Invariant, check_relabeled
from assignors.errors import AssignorError
from pipeline.review.case_runs import MAX_REBALANCES, PROTOCOL, Reviewed, check_scenario, is_timeout, load_case, maker
from reports.analysis.review.outcomes import AssignorOutcome, ShrunkScenario
from reports.analysis.text import printable
from scenarios.load import ScenarioError
from scenarios.run import run
from scenarios.run_estimate import count_tasks
from scenarios.suite.documents import Document, consistent, document_text, time_text
from scenarios.suite.standard import SuiteCase
from simulator.processes.run_options import RunOptions
from simulator.random_streams import random_stream

LISTS: Final = (("clients",), ("events",), ("application", "subtopologies"), ("cluster", "topics"))
"""Lists of which entries can be removed."""

_OPTIONAL: Final = (
    ("description",),
    ("price",),
    ("traffic",),
    ("alongside",),
    ("hosts",),
    ("cluster", "configs"),
    ("application", "starts"),
    ("application", "times"),
    ("application", "group_configs"),
)
_CLIENT_OPTIONAL: Final = ("restore", "tags", "starts", "records_per_s")
_DURATIONS: Final = (60_000, 300_000, 900_000, 1_800_000)


def fewer_racks(document: Document) -> Iterator[Document]:
    """Yield the scenario with fewer racks and brokers."""
    brokers = value_at(document, ("cluster", "brokers"))
    if not isinstance(brokers, dict) or not isinstance(brokers.get("racks"), list):
        return
    racks = brokers["racks"]
    for count in range(1, len(racks)):
        kept = racks[:count]
        candidate = with_value(document, ("cluster", "brokers", "racks"), kept)
        for client in candidate["clients"]:
            if client.get("rack") in racks[count:]:
                client["rack"] = kept[racks.index(client["rack"]) % count]
        yield candidate


def lower_numbers(document: Document) -> Iterator[Document]:
    """Yield the scenario with one number lowered."""
    for path in _numbers(document):
        value = value_at(document, path)
        lowest = 0 if path[-1] == "num.standby.replicas" else 1
        for lower in dict.fromkeys((lowest, value // 2, value - 1)):
            if lowest <= lower < value:
                yield consistent(with_value(document, path, lower))


def _numbers(document: Document) -> Iterator[tuple[Any, ...]]:
    for number, topic in enumerate(value_at(document, ("cluster", "topics")) or []):
        if isinstance(topic.get("partitions"), int):
            yield ("cluster", "topics", number, "partitions")
    for number, client in enumerate(document["clients"]):
        for key in ("count", "threads"):
            if isinstance(client.get(key), int):
                yield ("clients", number, key)
    for path in (
        ("cluster", "brokers", "count"),
        ("cluster", "configs", "default.replication.factor"),
        ("application", "configs", "num.standby.replicas"),
        ("application", "configs", "max.warmup.replicas"),
    ):
        if isinstance(value_at(document, path), int):
            yield path


def without_optional_keys(document: Document) -> Iterator[Document]:
    """Yield the scenario without one setting that has a default."""
    configs = value_at(document, ("application", "configs"))
    paths: list[tuple[Any, ...]] = [path for path in _OPTIONAL if value_at(document, path) is not None]
    paths += [("application", "configs", key) for key in configs or {}]
    paths += [("clients", n, key) for n, c in enumerate(document["clients"]) for key in _CLIENT_OPTIONAL if key in c]
    subtopologies = value_at(document, ("application", "subtopologies")) or []
    paths += [("application", "subtopologies", n, "stores") for n, s in enumerate(subtopologies) if "stores" in s]
    for path in paths:
        yield _without(document, path)
    if configs == {}:
        yield _without(document, ("application", "configs"))


def shorter_durations(document: Document) -> Iterator[Document]:
    """Yield the scenario with shorter durations."""
    for duration_ms in _DURATIONS:
        text = time_text(duration_ms)
        if document.get("duration") == text:
            return
        yield {**document, "duration": text}


def value_at(document: Any, path: Iterable[Any]) -> Any:
    """Return the value at a path; None if there is none."""
    for step in path:
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        else:
            return None
    return document


def with_value(document: Document, path: tuple[Any, ...], value: Any) -> Document:
    """Return a copy with another value at a path."""
    copy = deepcopy(document)
    value_at(copy, path[:-1])[path[-1]] = value
    return copy


def _without(document: Document, path: tuple[Any, ...]) -> Document:
    """Return a copy without the value at a path."""
    copy = deepcopy(document)
    del value_at(copy, path[:-1])[path[-1]]
    return copy


MAX_RUNS: Final = 400
"""Runs after which the smallest scenario so far is the result."""

_COST_OF_TIMEOUT: Final = 40
"""Number of runs that one with a timeout counts as."""

_COST_OF_CRASH: Final = 40
"""Number of runs that one in which a process ended counts as: the next run starts it again."""

_ALL_REBALANCES: Final = 5_000
"""Rebalances of all runs after which the search ends: a group that never converges has many in each."""

_ALL_ASSIGNED_TASKS: Final = 200_000
"""Tasks of all rebalances after which the search ends: about 20 seconds."""

MAX_RELABELINGS: Final = 60_000
"""States with other process ids that are checked, all together."""

_RELABELINGS: Final = 2_000
"""States with other process ids that are checked for each candidate."""

_BY_PROCESS_IDS: Final = ("valid", "complete")
"""Invariants whose violation may depend on process ids."""


class ShrinkingGoal(Protocol):
    """What a smaller scenario must still show."""

    @property
    def name(self) -> str:
        """Return its name, for random streams."""
        ...

    @property
    def metrics(self) -> list[str]:
        """Return the keys of the metrics that it needs."""
        ...

    @property
    def depends_on_process_ids(self) -> bool:
        """Return whether other process ids may show it."""
        ...

    @property
    def invariants(self) -> Collection[Invariant]:
        """Return the invariants to check: those that it depends on, and that a run alone does not show."""
        ...

    @property
    def max_runs(self) -> int:
        """Return the number of runs after which the smallest scenario so far is the result."""
        ...

    def reached(self, outcome: AssignorOutcome) -> str | None:
        """Return what a run shows; None if it does not reach the goal."""
        ...


@dataclass(frozen=True, slots=True)
class ViolationGoal:
    """The violation of an invariant. `name`: key of the invariant."""

    name: str

    @property
    def metrics(self) -> list[str]:
        """Return no metrics."""
        return []

    @property
    def depends_on_process_ids(self) -> bool:
        """Return whether the violation may depend on process ids."""
        return self.name in _BY_PROCESS_IDS

    @property
    def invariants(self) -> Collection[Invariant]:
        """Return the invariant, unless a run alone shows it."""
        return () if self.name == Invariant.CONVERGES else (Invariant(self.name),)

    @property
    def max_runs(self) -> int:
        """Return `MAX_RUNS`."""
        return MAX_RUNS

    def reached(self, outcome: AssignorOutcome) -> str | None:
        """Return the message of the violation."""
        return next((one.message for one in outcome.violations if one.invariant == self.name), None)


@dataclass(frozen=True, slots=True)
class SmallestScenario:
    """The smallest scenario that a search found.

    Attributes:
        message: what it shows.
        runs: runs that the search took.
    """

    document: Document
    message: str
    runs: int
    clients: int
    tasks: int
    events: int


def shrink(case: SuiteCase, head: Reviewed, invariant: str) -> ShrunkScenario | None:
    """Shrink the scenario of a case.

    Returns the smallest scenario found; None if the case does not violate the invariant when it is run alone.
    """
    found = find_smallest(case, head, ViolationGoal(invariant))
    if found is None:
        return None
    origin = f"Shrunk from {printable(case.name)} of the family {case.family}"
    final = {**found.document, "name": f"{invariant.replace('_', '-')}", "seeds": [case.seed]}
    return ShrunkScenario(
        invariant=invariant,
        message=found.message,
        family=case.family,
        case=case.name,
        seed=case.seed,
        text=document_text(final, violation_comment(head, invariant, found.message, origin, f"{invariant}.yaml")),
        clients=found.clients,
        tasks=found.tasks,
        events=found.events,
        runs=found.runs,
    )


def find_smallest(case: SuiteCase, head: Reviewed, goal: ShrinkingGoal) -> SmallestScenario | None:
    """Find a smallest scenario that reaches a goal.

    Returns the smallest scenario found; None if the case does not reach the goal when it is run alone.
    """
    search = _ShrinkingSearch(case, head, goal)
    start = None if case.document is None else search.reproduce(case.document)
    if start is None:
        return None
    document = _smallest(deepcopy(start), search)
    scenario = load_case(replace(case, document=document), head)
    blueprint = scenario.blueprint
    return SmallestScenario(
        document=document,
        message=search.messages[-1],
        runs=search.runs,
        clients=len(blueprint.clients),
        tasks=count_tasks(scenario),
        events=len(blueprint.events),
    )


def violation_comment(head: Reviewed, invariant: str, message: str, origin: str, file: str) -> str:
    """Return the comment at the head of a scenario file: what is violated, its origin, and how to see it again."""
    own = {key: value for key, value in head.configs.items() if key != PROTOCOL}
    settings = "".join(f" --head-config {key}={value}" for key, value in own.items())
    return (
        f"{printable(head.label)} violates the invariant {invariant}:\n  {printable(message)}\n"
        f"{origin}. To see it again:\n"
        f"  assignor-sim review --head '{printable(head.name)}'{printable(settings)} {file}"
    )


class _ShrinkingSearch:
    """Runs candidates, and counts the runs."""

    def __init__(self, case: SuiteCase, head: Reviewed, goal: ShrinkingGoal) -> None:
        self._case = case
        self._head = head
        self._goal = goal
        self._rng = random_stream(case.seed, "shrinking", goal.name)
        self._relabelings = 0
        self._rebalances = 0
        self._assigned_tasks = 0
        self._effort = 0
        self.runs = 0
        self.messages: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether no run or no rebalance is left."""
        return (
            self._effort >= self._goal.max_runs
            or self._rebalances >= _ALL_REBALANCES
            or self._assigned_tasks >= _ALL_ASSIGNED_TASKS
        )

    def reproduce(self, document: Document) -> Document | None:
        """Return a scenario that reaches the goal; None if none is found.

        It is the given one, or if the goal depends on process ids, the same with others.
        """
        if self.is_over:
            return None
        try:
            if self._reaches(document):
                return document
            if not self._goal.depends_on_process_ids or self._relabelings >= MAX_RELABELINGS:
                return None
            if self._head.limits.isolate and self.runs > 1:
                return None  # Thousands of calls of another process take minutes.
            other = self._with_process_ids(document)
            return other if other is not None and self._reaches(other) else None
        except (ScenarioError, AssignorError, ValueError, KeyError):
            return None  # A reference to something that was removed.

    def _reaches(self, document: Document) -> bool:
        self.runs += 1
        goal, seed = self._goal, self._case.seed
        scenario = load_case(replace(self._case, document=document), self._head)
        spec = self._head.spec(scenario)
        outcome = check_scenario(scenario, spec, seed, goal.metrics, 0, goal.invariants)
        self._rebalances += outcome.rebalances
        self._assigned_tasks += outcome.rebalances * count_tasks(scenario)
        self._effort += _cost_of(outcome)
        message = self._goal.reached(outcome)
        if message is not None:
            self.messages.append(message)
        return message is not None

    def _with_process_ids(self, document: Document) -> Document | None:
        """Return a scenario with process ids for which the assignment of its last rebalance violates the invariant."""
        if any("count" in client for client in document["clients"]):
            return None
        scenario = load_case(replace(self._case, document=document), self._head)
        spec = self._head.spec(scenario)
        trace = run(scenario, spec, self._case.seed, RunOptions(capture=True, max_rebalances=MAX_REBALANCES))
        if not trace.captured_rounds:
            return None
        state = trace.captured_rounds[-1].state
        self._relabelings += _RELABELINGS
        for other, violation in check_relabeled(state, maker(spec, trace), self._rng, _RELABELINGS):
            if violation.invariant == self._goal.name:
                ids = dict(zip(map(str, state.clients.ids), map(str, other.clients.ids), strict=True))
                of_name = {client.name: str(client.process_id) for client in trace.world.clients}
                return {**document, "clients": [_identified(c, of_name, ids) for c in document["clients"]]}
        return None


def _cost_of(outcome: AssignorOutcome) -> int:
    """Return the number of ordinary runs that a run counts as."""
    texts = [one.message for one in outcome.violations]
    if any(is_timeout(text) for text in texts):
        return _COST_OF_TIMEOUT
    return _COST_OF_CRASH if any("its process" in text for text in texts) else 1


def _identified(client: Document, of_name: Mapping[str, str], ids: Mapping[str, str]) -> Document:
    """Return a client with its new process id; a client that did not take part in the rebalance keeps its own."""
    own = of_name[client["name"]]
    return {**client, "process_id": ids.get(own, own)}


def _smallest(document: Document, search: _ShrinkingSearch) -> Document:
    """Apply all reductions until none applies."""
    while not search.is_over:
        before = document
        for path in LISTS:
            document = _fewer_entries(document, path, search)
        for candidates in (fewer_racks, lower_numbers, without_optional_keys, shorter_durations):
            document = _first_that_reproduces(document, candidates, search)
        if document == before:
            break
    return document


def _fewer_entries(document: Document, path: tuple[str, ...], search: _ShrinkingSearch) -> Document:
    """Remove entries of a list: by halves, then one by one."""
    if not isinstance(value_at(document, path), list):
        return document
    size = max(1, len(value_at(document, path)) // 2)
    while True:
        start = 0
        while start < len(entries := value_at(document, path) or []):
            kept = [*entries[:start], *entries[start + size :]]
            candidate = consistent(with_value(document, path, kept))
            found = search.reproduce(candidate)
            if found is None:
                start += size
            else:
                document = found
        if size == 1:
            return document
        size //= 2


def _first_that_reproduces(
    document: Document, candidates: Callable[[Document], Iterator[Document]], search: _ShrinkingSearch
) -> Document:
    """Apply one kind of reduction as often as it reproduces the violation."""
    while True:
        for candidate in candidates(document):
            found = search.reproduce(candidate) if candidate != document else None
            if found is not None:
                document = found
                break
        else:
            return document
