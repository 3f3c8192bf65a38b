"""Runs of settings with common random numbers: the same seeds for all settings that are compared.

The runs of situations are in processes of this machine, or in the workers of Spark.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from assignors.flow.min_cost import least_skew
from assignors.model.assignment import UNASSIGNED
from pipeline.pool import Call, RunAll
from reports.analysis.checkup.areas import SituationRun
from scenarios.checkup.situations import Document
from scenarios.load import Scenario, ScenarioError, loads
from scenarios.run import run
from simulator.processes.run_options import RunOptions
from simulator.results.run_summary import cross_rack_fetches
from simulator.results.tabulation import tabulate_run
from simulator.results.trace import Trace
from simulator.world.group_configs import GroupProtocol

Setting = TypeVar("Setting", bound=Hashable)
"""What a search may change: configs, and how clients start and close."""

Assessment = TypeVar("Assessment")

Answer = Sequence[Any] | str
"""The runs of a setting in a situation, one for each seed; or why the setting is invalid."""

SettingRuns = list[dict[str, Any]]
"""The runs of a setting: for each seed, one for each situation by its key."""


class Evaluator(ABC, Generic[Setting, Assessment]):
    """Runs settings in situations, and assesses them by an objective."""

    def __init__(self, situations: Sequence[str], first_seed: int = 1) -> None:
        """Choose the situations, and the first seed of the first evaluation."""
        self.situations = tuple(situations)
        self.runs = 0
        self.assessments: dict[Setting, Assessment] = {}
        self._next_seed = first_seed
        self._answers: dict[tuple[Setting, str, int], Any] = {}
        """The run of a setting in a situation with a seed; or why the setting is invalid."""

    @abstractmethod
    def answer(self, pairs: Sequence[tuple[Setting, str]], seeds: Sequence[int]) -> Sequence[Answer]:
        """Run pairs of a setting and a situation with each seed."""

    @abstractmethod
    def assess(self, setting: Setting, runs: SettingRuns, *, is_partial: bool) -> Assessment:
        """Assess a setting by its runs; partial ones are those of some situations only."""

    def fresh_seeds(self, number: int) -> range:
        """Return seeds that no setting has run with."""
        self._next_seed += number
        return range(self._next_seed - number, self._next_seed)

    def evaluate(
        self, settings: Sequence[Setting], seeds: Sequence[int], situations: Sequence[str] | None = None
    ) -> dict[Setting, Assessment]:
        """Run settings with seeds in some situations, by default in all, and assess those that are valid."""
        is_partial = situations is not None and len(situations) < len(self.situations)
        assessed = {
            setting: self.assess(setting, runs, is_partial=is_partial)
            for setting, runs in zip(settings, self.run(settings, seeds, situations), strict=True)
            if runs is not None
        }
        self.assessments |= assessed
        return assessed

    def run(
        self, settings: Sequence[Setting], seeds: Sequence[int], situations: Sequence[str] | None = None
    ) -> list[SettingRuns | None]:
        """Return the runs of each setting; None if it is invalid. What has been run is not run again."""
        keys = self.situations if situations is None else situations
        missing: dict[tuple[int, ...], list[tuple[Setting, str]]] = {}
        for setting in dict.fromkeys(settings):
            for key in keys:
                left = tuple(seed for seed in seeds if (setting, key, seed) not in self._answers)
                if left:
                    missing.setdefault(left, []).append((setting, key))
        for left, pairs in missing.items():
            for (setting, key), answer in zip(pairs, self.answer(pairs, left), strict=True):
                of_seeds = repeat(answer, len(left)) if isinstance(answer, str) else answer
                self._answers |= {(setting, key, seed): run for seed, run in zip(left, of_seeds, strict=True)}
                self.runs += 0 if isinstance(answer, str) else len(left)
        return [self._runs_by_seed(setting, keys, seeds) for setting in settings]

    def why_invalid(self, setting: Setting) -> str:
        """Return why a setting that was run is invalid in this scenario."""
        errors = (answer for (one, *_), answer in self._answers.items() if one == setting and isinstance(answer, str))
        return next(errors, "")

    def _runs_by_seed(self, setting: Setting, keys: Sequence[str], seeds: Sequence[int]) -> SettingRuns | None:
        runs = [{key: self._answers[setting, key, seed] for key in keys} for seed in seeds]
        return None if any(isinstance(run, str) for of_seed in runs for run in of_seed.values()) else runs


MAX_REBALANCES: Final = 5_000
"""Rebalances after which the run of a situation is stopped; its group never converges."""

_CACHED_SCENARIOS: Final = 4
_LONGEST: Final = "scale"
"""The situation with the most rebalances, as long as none is known."""


@dataclass(frozen=True, slots=True)
class SituationRequest:
    """A situation with a setting, and the seeds to run.

    Attributes:
        name: name of the scenario in errors.
        folder: folder of the files that it imports.
        keeps_owners: whether the runs have the owner of each task at the end.
    """

    key: str
    document: Document
    name: str
    folder: Path | None
    duration_ms: int
    seeds: tuple[int, ...]
    keeps_owners: bool = False

    @classmethod
    def of(
        cls, scenario: Scenario, key: str, document: Document, duration_ms: int, seeds: Sequence[int]
    ) -> SituationRequest:
        """Return the request for a situation of a scenario."""
        folder = None if scenario.path is None else scenario.path.parent
        return cls(key, document, scenario.name, folder, duration_ms, tuple(seeds))


@dataclass(slots=True, eq=False)
class SituationRuns:
    """Runs requests in parallel, the longest first, so that no process waits long for the last one.

    Attributes:
        rebalances: the most rebalances that a run of each situation has had.
    """

    run_all: RunAll
    on_progress: Callable[[str], None] = lambda _: None
    step: str = ""
    rebalances: dict[str, int] = field(default_factory=lambda: {_LONGEST: 1})

    def begin(self, step: str) -> None:
        """Describe what the next requests are for."""
        self.step = step
        self.on_progress(step)

    def __call__(self, requests: Sequence[SituationRequest]) -> list[Any]:
        """Return what `run_situation` returns for each request, in their order."""
        # Seed by seed: with those of the longest situation in one process, the others would wait for it.
        parts = [(number, seed) for number, request in enumerate(requests) for seed in request.seeds]
        parts.sort(key=lambda part: -self.rebalances.get(requests[part[0]].key, 0))
        answers: dict[tuple[int, int], list[SituationRun] | str] = {}
        runs = self.run_all(_ask, [replace(requests[number], seeds=(seed,)) for number, seed in parts])
        for done, (position, answer) in enumerate(runs, start=1):
            number, seed = parts[position]
            answers[number, seed], key = answer, requests[number].key
            if not isinstance(answer, str):
                self.rebalances[key] = max(self.rebalances.get(key, 0), *(run.metrics["rebalances"] for run in answer))
            self.on_progress(f"{self.step}: {done:,} of {len(parts):,} runs")
        return [_joined([answers[number, seed] for seed in request.seeds]) for number, request in enumerate(requests)]


def _joined(answers: Sequence[list[SituationRun] | str]) -> list[SituationRun] | str:
    runs: list[SituationRun] = []
    for answer in answers:
        if isinstance(answer, str):
            return answer
        runs += answer
    return runs


def _ask(call: Call, request: SituationRequest) -> Any:
    return call(run_situation, request)


def run_situation(request: SituationRequest) -> list[SituationRun] | str:
    """Return the run with each seed, in their order; or why the setting is invalid in this scenario."""
    try:
        # JSON is YAML, and faster to write.
        scenario = _load(json.dumps(request.document), request.name, request.folder)
    except ScenarioError as error:
        return str(error)
    return [_run(scenario, seed, request) for seed in request.seeds]


@lru_cache(_CACHED_SCENARIOS)
def _load(text: str, name: str, folder: Path | None) -> Scenario:
    return loads(text, name, folder=folder)


def _run(scenario: Scenario, seed: int, request: SituationRequest) -> SituationRun:
    spec = scenario.assignors[0]
    # No grade and no figure of a report is about the cost of assignments.
    trace = run(scenario, spec, seed, RunOptions(appraise=False, max_rebalances=MAX_REBALANCES))
    row = tabulate_run(trace, spec.label, seed)
    blueprint, protocol = scenario.blueprint, scenario.protocol_of(spec)
    group = blueprint.group_configs[protocol]
    partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
    sources = {topic for one in blueprint.application.subtopologies for topic in one.source_topics}
    read = {topic: partitions.get(topic, 0) for topic in sorted(sources)}
    members = [client.consumer.topics for client in blueprint.clients if client.starts for _ in range(client.threads)]
    subscriptions = [read if topics is None else topics for topics in members]
    return SituationRun(
        metrics=row,
        duration_ms=request.duration_ms,
        source_partitions=sum(read.values()),
        max_poll_interval_ms=group.max_poll_interval_ms if protocol is GroupProtocol.CLASSIC else None,
        limits_processing=all(client.records_per_s is not None for client in blueprint.clients),
        members=len(members),
        least_skew=least_skew(read, subscriptions) if blueprint.application.is_consumer_group and members else 0,
        fetches=None if request.document["events"] else cross_rack_fetches(trace),
        owned=_owned(trace) if request.keeps_owners else None,
    )


def _owned(trace: Trace) -> dict[str, list[list[str]]]:
    """Return the tasks of each thread of each client at the end of a run."""
    owned: dict[str, list[list[str]]] = {
        client.name: [[] for _ in range(client.threads)] for client in trace.world.clients
    }
    last = trace.rounds[-1]
    for task, client, thread in zip(
        trace.layout.tasks.ids, last.owner.tolist(), last.owner_thread.tolist(), strict=True
    ):
        if client != UNASSIGNED:
            owned[trace.world.clients[client].name][thread].append(str(task))
    return owned
