"""Search for violations and for the worst scenario, guided by the coverage of features.

Guarantees: the cases depend on the seed, the inputs of the corpus and the assignor, and neither on the number of
processes nor on the clock; a time limit only ends the search between two cases. A search that continues a corpus runs
the cases that one uninterrupted search would have run.

Complexity: a batch of `BATCH` cases at a time, in parallel, without repetition. Each new kind of violation is
shrunk, and so is the worst case at the end.

Source: M. Zalewski, american fuzzy lop (2013): inputs with new coverage are kept and changed further. Here, coverage is
that of the features of scenarios and runs.

The features of a case are what its scenario has, and how the assignor behaved; sizes count in powers of two.

A case with a feature that no case had before is worth keeping: its changes reach further.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from assignors.contract import Invariant
from assignors.errors import CustomAssignorError
from pipeline.fuzz.candidates import FuzzInput, FuzzRequest, build_input, run_input
from pipeline.fuzz.corpus import Corpus
from pipeline.fuzz.found_cases import FoundCases, signature_of, size_of, worst_case_name
from pipeline.pool import ProcessPool, process_pool
from pipeline.review.case_runs import Reviewed
from pipeline.review.shrinking import SmallestScenario, ViolationGoal, find_smallest
from reports.analysis.review.fuzzing import (
    COST,
    FoundViolation,
    FuzzReport,
    ScenarioSize,
    WorstCase,
    objective_value,
)
from reports.analysis.review.outcomes import AssignorOutcome, InvariantViolation
from reports.analysis.text import printable
from scenarios.suite.documents import Document
from simulator.plurals import counted
from simulator.random_streams import random_stream

FEATURE_METRICS: Final = (
    "active_moves",
    "standby_moves",
    "load_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
    "cross_rack_source_partitions",
    "not_converged",
)
"""Metrics whose sizes are features."""

_SKEW_STEPS: Final = 4


def features(document: Document, outcome: AssignorOutcome) -> frozenset[str]:
    """Return the features of a case.

    `document`: its scenario, in the form that `scenarios.suite.documents.document` builds.
    """
    scenario = dict(_of_scenario(document))
    run = dict(_of_run(outcome))
    single = {f"{name}={value}" for name, value in (scenario | run).items()}
    pairs = {
        f"{first}={scenario[first]},{second}={scenario[second]}"
        for first, second in (
            ("clients", "tasks"),
            ("standbys", "racks"),
            ("events", "standbys"),
            ("threads", "starts"),
        )
    }
    pairs |= {
        f"{first}={(scenario | run)[first]},{second}={run[second]}"
        for first, second in (("rebalances", "active_moves"), ("standbys", "standby_moves"), ("racks", "above"))
        if first in scenario | run and second in run
    }
    return frozenset(single | pairs | set(_sequences(document)))


def _of_scenario(document: Document) -> Iterator[tuple[str, object]]:
    clients, application = document["clients"], document["application"]
    configs = application.get("configs", {})
    partitions = {topic["name"]: topic["partitions"] for topic in document["cluster"]["topics"]}
    subtopologies = application["subtopologies"]
    stateful = sum("stores" in one for one in subtopologies)
    threads = {client.get("threads", 1) for client in clients if client.get("starts", True)}
    yield "clients", _bucket(len(clients))
    yield "tasks", _bucket(sum(partitions.values()))
    yield "racks", len(document["cluster"]["brokers"]["racks"])
    yield "client racks", len({client.get("rack") for client in clients})
    yield "standbys", configs.get("num.standby.replicas", 0)
    yield "subtopologies", len(subtopologies)
    yield "stateful", "none" if not stateful else "all" if stateful == len(subtopologies) else "some"
    yield "threads", "equal" if len(threads) < 2 else "unequal"
    yield "strategy", configs.get("rack.aware.assignment.strategy", "default")
    yield "tags", bool(configs.get("rack.aware.assignment.tags"))
    yield "starts", application.get("starts", "default")
    yield "events", len(document.get("events", ()))


def _sequences(document: Document) -> Iterator[str]:
    kinds = [next(key for key in event if key != "at") for event in document.get("events", ())]
    yield from (f"event={kind}" for kind in kinds)
    yield from (f"event={first},then={second}" for first, second in pairwise(kinds))


def _of_run(outcome: AssignorOutcome) -> Iterator[tuple[str, object]]:
    yield "rebalances", _bucket(outcome.rebalances)
    yield "failed", outcome.failure is not None
    for metric in FEATURE_METRICS:
        value = outcome.metrics.get(metric)
        if value is not None:
            yield metric, int(_SKEW_STEPS * value) if metric == "load_skew" else _bucket(int(value))
    if outcome.gap is not None:
        yield "above", _bucket(outcome.gap.above)
    for violation in outcome.violations:
        yield f"violates {violation.invariant}", True


def _bucket(number: int) -> int:
    """Return the number of binary digits: 0, 1, 2–3, 4–7, 8–15, …"""
    return number.bit_length()


BATCH: Final = 16
"""Cases that are chosen from the same inputs."""

MAX_KINDS: Final = 5
"""Kinds of violations of one invariant that are shrunk and stored."""

_MAX_RUNS_FOR_WORST: Final = 120
_NEWEST, _HIGHEST = 10, 8


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """How to search.

    Attributes:
        seed: seed of the search.
        cases: number of cases to run; None for no limit.
        until_s: wall-clock time in seconds after which no further case starts; None for no limit.
        objective: key of the metric whose highest value is searched.
    """

    seed: int
    cases: int | None
    until_s: float | None
    objective: str


@dataclass(frozen=True, slots=True)
class ReachesValue:
    """The goal of a scenario that is as bad as another one.

    Attributes:
        name: key of the metric.
        value: the value to reach.
    """

    name: str
    value: float

    @property
    def metrics(self) -> list[str]:
        """Return the metric."""
        return [self.name]

    @property
    def depends_on_process_ids(self) -> bool:
        """Return False: candidates keep the process ids of their seed."""
        return False

    @property
    def invariants(self) -> Collection[Invariant]:
        """Return none."""
        return ()

    @property
    def max_runs(self) -> int:
        """Return fewer runs than for a violation: the value matters, and the size less."""
        return _MAX_RUNS_FOR_WORST

    def reached(self, outcome: AssignorOutcome) -> str | None:
        """Return the value, if it is at least as high."""
        value = objective_value(outcome, self.name)
        return None if value is None or value < self.value else f"{value:g}"


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """An input and its run.

    Attributes:
        outcome: its run; None if the scenario is invalid with the configs of the assignor.
        crashed: whether the assignor ended its process.
    """

    found: FuzzInput
    outcome: AssignorOutcome | None
    crashed: bool = False


def run_fuzz(
    reviewed: Reviewed,
    options: FuzzOptions,
    corpus: Corpus,
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> FuzzReport:
    """Search for violations of invariants, and for the highest value of the objective.

    `workers`: number of processes; by default one for each CPU. The results do not depend on it. Returns what was
    found.
    """
    with process_pool(workers) as pool:
        search = _FuzzSearch(pool, reviewed, options, corpus, on_progress)
        search.replay()
        search.evaluate_corpus()
        search.run()
        return search.report()


class _FuzzSearch:
    """The state of a search."""

    def __init__(
        self,
        pool: ProcessPool,
        reviewed: Reviewed,
        options: FuzzOptions,
        corpus: Corpus,
        on_progress: Callable[[str], None],
    ) -> None:
        self._pool = pool
        self._reviewed = reviewed
        self._options = options
        self._corpus = corpus
        self._cases = FoundCases(corpus, reviewed, options.seed)
        self._on_progress = on_progress
        self._deadline = math.inf if options.until_s is None else time.monotonic() + options.until_s
        self._metrics = list(dict.fromkeys((*FEATURE_METRICS, options.objective)))
        self._covered: set[str] = set()
        self._values: dict[int, float] = {}
        self._outcomes: dict[int, AssignorOutcome] = {}
        self._known: set[tuple[str, str]] = set()
        self._violations: list[FoundViolation] = []
        self._mended: list[str] = []
        self._first = corpus.cases + 1
        self._states = self._costs = self._proven = 0

    def replay(self) -> None:
        """Run the stored cases of the corpus again."""
        stored = [(name, case) for name, case in self._corpus.stored.items() if case.invariants]
        inputs = [self._cases.load_input(name) for name, _ in stored]
        for (name, case), found, run in zip(stored, inputs, self._evaluate(inputs), strict=True):
            assert run is not None
            violated = {} if run.outcome is None else {one.invariant: one for one in run.outcome.violations}
            persisting = [violated[invariant] for invariant in case.invariants if invariant in violated]
            if not persisting:
                self._mended.append(name)
                continue
            self._known.update((one.invariant, case.signature) for one in persisting)
            size = size_of(found.document)
            self._violations += [
                FoundViolation(one.invariant, one.message, 0, found.seed, size, name, is_new=False)
                for one in persisting
            ]

    def evaluate_corpus(self) -> None:
        """Run the inputs of the corpus, to know which features they cover with this assignor."""
        inputs = list(self._corpus.inputs)
        for done, run in enumerate(self._evaluate(inputs), start=1):
            if run is not None and run.outcome is not None:
                self._covered |= features(run.found.document, run.outcome)
                self._remember(run.found, run.outcome)
            self._on_progress(f"{done:,} of {len(inputs):,} inputs of the corpus")

    def run(self) -> None:
        """Run cases, batch by batch, until a limit is reached."""
        last = math.inf if self._options.cases is None else self._corpus.cases + self._options.cases
        is_over = False
        while not is_over and self._corpus.cases < last:
            first = self._corpus.cases + 1
            start = first - (first - 1) % BATCH
            numbers = range(first, int(min(start + BATCH - 1, last)) + 1)
            runs = self._evaluate([self._request(number, start) for number in numbers], may_stop=True)
            # With a time limit, cases after the first one that did not start do not count.
            complete = _started(runs)
            is_over = len(complete) < len(runs) or time.monotonic() >= self._deadline
            self._merge(complete)
            self._save(first - 1 + len(complete))

    def _request(self, number: int, start: int) -> FuzzRequest:
        """Choose the inputs to change for a case, among those from before its batch."""
        rng = random_stream(self._options.seed, "fuzz parents", str(number))
        inputs = [found for found in self._corpus.inputs if found.number < start and found.number in self._outcomes]
        choice = rng.random()
        if not inputs or choice < 0.2:
            return FuzzRequest(self._options.seed, number)
        if choice < 0.6:
            among = inputs
        elif choice < 0.8:
            among = inputs[-_NEWEST:]
        else:
            among = sorted(inputs, key=lambda found: (-self._values.get(found.number, 0.0), found.number))[:_HIGHEST]
        parent = among[int(rng.integers(len(among)))]
        return FuzzRequest(self._options.seed, number, parent, inputs[int(rng.integers(len(inputs)))])

    def _evaluate(self, items: Sequence[FuzzInput | FuzzRequest], *, may_stop: bool = False) -> list[_Evaluated | None]:
        """Run inputs in parallel; None for those that did not start before the time limit."""
        runs: list[_Evaluated | None] = [None] * len(items)

        def evaluate(item: FuzzInput | FuzzRequest) -> _Evaluated | None:
            if may_stop and time.monotonic() >= self._deadline:
                return None
            found = build_input(item, self._reviewed) if isinstance(item, FuzzRequest) else item
            return self._run_one(found)

        for position, run in self._pool.map(evaluate, items):
            runs[position] = run
        return runs

    def _run_one(self, found: FuzzInput) -> _Evaluated:
        try:
            return _Evaluated(found, self._pool.call(run_input, found, self._reviewed, self._metrics))
        except CustomAssignorError as error:
            text = str(error)
        try:
            alone = self._pool.call(run_input, found, self._reviewed.isolated, self._metrics)
        except CustomAssignorError as error:
            text, alone = str(error), None
        if alone is not None and alone.violations:
            return _Evaluated(found, alone, crashed=True)
        violation = InvariantViolation("valid", text)
        return _Evaluated(found, AssignorOutcome(failure=text, violations=(violation,)), crashed=True)

    def _merge(self, runs: Sequence[_Evaluated]) -> None:
        """Keep the inputs that reach further, and shrink the violations of new kinds."""
        new: list[tuple[_Evaluated, InvariantViolation]] = []
        for run in runs:
            outcome = run.outcome
            if outcome is None:
                continue
            self._states += outcome.checked_states
            self._costs += outcome.gap is not None
            self._proven += outcome.gap is not None and outcome.gap.is_proven
            for violation in outcome.violations:
                kind = (violation.invariant, signature_of(violation))
                kinds = sum(invariant == violation.invariant for invariant, _ in self._known)
                if kind not in self._known and kinds < MAX_KINDS:
                    self._known.add(kind)
                    new.append((run, violation))
            reached = features(run.found.document, outcome)
            value = objective_value(outcome, self._options.objective)
            is_worse = value is not None and value > max(self._values.values(), default=0.0)
            if is_worse or not reached <= self._covered:
                self._covered |= reached
                self._corpus.add_input(run.found)
                self._remember(run.found, outcome)
        if new:
            self._on_progress(f"shrinking {counted(len(new), 'violation')}")
        smallest = dict(self._pool.map(self._shrink, new))
        self._violations += [
            self._cases.add_violation(run.found, violation, *smallest[n]) for n, (run, violation) in enumerate(new)
        ]

    def _remember(self, found: FuzzInput, outcome: AssignorOutcome) -> None:
        self._outcomes[found.number] = outcome
        value = objective_value(outcome, self._options.objective)
        if value is not None:
            self._values[found.number] = value

    def _shrink(self, pair: tuple[_Evaluated, InvariantViolation]) -> tuple[SmallestScenario | None, bool]:
        """Return the smallest scenario with a violation, and whether the assignor needs a process of its own."""
        run, violation = pair
        goal = ViolationGoal(violation.invariant)
        if not run.crashed:
            try:
                return self._pool.call(find_smallest, run.found.case(), self._reviewed, goal), False
            except CustomAssignorError:
                pass  # A smaller scenario ended the process.
        try:
            return self._pool.call(find_smallest, run.found.case(), self._reviewed.isolated, goal), True
        except CustomAssignorError:
            return None, True

    def _save(self, cases: int) -> None:
        options, label = self._options, printable(self._reviewed.label)
        facts = {
            "assignor": label,
            "seed": options.seed,
            "objective": options.objective,
            "features": len(self._covered),
        }
        self._corpus.save(cases, facts)
        highest = f", worst {max(self._values.values()):,.6g}" if self._values else ""
        self._on_progress(
            f"{cases:,} cases, {len(self._corpus.inputs):,} inputs, {len(self._covered):,} features, "
            f"{len(self._violations):,} violations{highest}"
        )

    def report(self) -> FuzzReport:
        """Shrink the worst case, and return what was found."""
        return FuzzReport(
            assignor=self._reviewed.label,
            seed=self._options.seed,
            cases=self._corpus.cases - self._first + 1,
            all_cases=self._corpus.cases,
            inputs=len(self._corpus.inputs),
            features=len(self._covered),
            states=self._states,
            proven=self._proven,
            costs=self._costs,
            violations=tuple(self._violations),
            mended=tuple(self._mended),
            worst=self._worst(),
            objective=self._options.objective,
        )

    def _worst(self) -> WorstCase | None:
        """Return the smallest scenario with the highest value of the objective, and store it."""
        metric = self._options.objective
        number = min(self._values, key=lambda number: (-self._values[number], number), default=0)
        if not self._values.get(number):
            return None
        found = next(one for one in self._corpus.inputs if one.number == number)
        value, name = self._values[number], worst_case_name(metric)
        stored = self._corpus.stored.get(name)
        if stored is not None and self._corpus.folder is not None and self._cases.is_same(stored, found, value):
            small_input = self._cases.load_input(name)
            [run] = self._evaluate([small_input])
            outcome = None if run is None else run.outcome
            if outcome is not None and objective_value(outcome, metric) == stored.value:
                gap = outcome.gap if metric == COST else None
                size = size_of(small_input.document)
                return WorstCase(metric, stored.value or value, gap, number, found.seed, size, name)
        self._on_progress(f"shrinking the worst case, {value:,.6g}")
        goal = ReachesValue(metric, value)

        def search(one: FuzzInput) -> tuple[FuzzInput, SmallestScenario | None, AssignorOutcome]:
            try:
                small = self._pool.call(find_smallest, one.case(), self._reviewed, goal)
            except CustomAssignorError:
                small = None
            smaller = one if small is None else replace(one, document=small.document)
            if small is None:
                return smaller, small, self._outcomes[number]
            return smaller, small, self._pool.call(run_input, smaller, self._reviewed, self._metrics)

        [(_, (smaller, small, outcome))] = self._pool.map(search, [found])
        size = size_of(smaller.document) if small is None else ScenarioSize(small.clients, small.tasks, small.events)
        reached = objective_value(outcome, metric)
        worst = WorstCase(metric, reached or value, outcome.gap, number, found.seed, size, None)
        worst = replace(worst, gap=outcome.gap if metric == COST else None)
        file = self._cases.add_worst(found, smaller.document, worst, outcome.metrics[metric])
        return replace(worst, file=file)


def _started(runs: Sequence[_Evaluated | None]) -> list[_Evaluated]:
    """Return the runs before the first one that did not start."""
    started: list[_Evaluated] = []
    for run in runs:
        if run is None:
            break
        started.append(run)
    return started
