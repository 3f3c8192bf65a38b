"""The checkup of an application: its grades today, the findings, the best change that was found, and its rollout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from pipeline.checkup.rollout import simulate_rollout
from pipeline.checkup.search import SEARCH_SEEDS, RunRequests, SearchResult, SettingRuns, search
from pipeline.checkup.settings import CheckupSettings
from pipeline.recommend.errors import RecommendError
from pipeline.recommend.request import current_assignor
from pipeline.recommend.space import search_space
from reports.analysis.checkup.areas import AREA, worst_situation
from reports.analysis.checkup.findings import findings
from reports.analysis.checkup.report import (
    CheckupReport,
    ReportCard,
    SeedRuns,
    area_gains,
    situation_figures,
)
from reports.analysis.formatting import format_number, format_rate
from reports.analysis.recommendation import MetricChange
from scenarios.checkup.situations import LeftOut, Situation, standard_situations
from scenarios.load import Scenario
from scenarios.run_time import count_tasks

FIRST_SEEDS: Final = 3
"""Seeds of the first report card."""

_FINALISTS: Final = 3
"""Settings that are compared with the current one, until one is better."""

_ASSIGNORS: Final = ("high_availability", "sticky_task_assignor", "streams_group_sticky")


@dataclass(frozen=True, slots=True)
class CheckupRequest:
    """What to check.

    Attributes:
        scenario: the scenario of the application; its own events do not take part.
        today: label of its current assignor; None for the first.
        seed: the first seed.
        seeds: number of fresh seeds with which the current and the recommended setting are compared.
    """

    scenario: Scenario
    today: str | None
    seed: int
    seeds: int


def run_checkup(
    request: CheckupRequest,
    run_requests: RunRequests,
    on_step: Callable[[str], None] = lambda _: None,
    on_first: Callable[[ReportCard], None] = lambda _: None,
) -> CheckupReport:
    """Run the standard situations, grade the current setting, and search for a better one.

    Args:
        request: what to check.
        run_requests: runs situations in parallel.
        on_step: called with a description of each step.
        on_first: called with the report card of the current setting over `FIRST_SEEDS` seeds, before the search.

    Returns:
        The report.

    Raises:
        RecommendError: a situation is invalid with the current setting.
    """
    scenario = request.scenario
    assignor = current_assignor(scenario, request.today)
    own = () if assignor.info.in_streams_groups else _ASSIGNORS
    settings = CheckupSettings(scenario, assignor, search_space(scenario, assignor, own))
    situations, left_out = standard_situations(scenario, has_leader=not assignor.info.in_streams_groups)
    runs = SettingRuns(settings, situations, run_requests)
    today, first = settings.today, request.seed
    on_step("running the current setting")
    first_cards = runs.cards([today], range(first, first + FIRST_SEEDS))
    if today not in first_cards:
        raise RecommendError(f"{scenario.name}: {runs.why_invalid(today)}")
    on_first(first_cards[today])
    first += FIRST_SEEDS
    found = search(runs, range(first, first + SEARCH_SEEDS), on_step)
    first += SEARCH_SEEDS
    return _Comparison(request, settings, situations, left_out, runs, found, first).report(on_step)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """Compares the current and the best setting with fresh seeds.

    Attributes:
        request: what to check.
        settings: the settings.
        situations: the situations.
        left_out: those that are left out.
        runs: runs settings.
        found: the result of the search.
        first: the first fresh seed.
    """

    request: CheckupRequest
    settings: CheckupSettings
    situations: Sequence[Situation]
    left_out: Sequence[LeftOut]
    runs: SettingRuns
    found: SearchResult
    first: int

    def report(self, on_step: Callable[[str], None]) -> CheckupReport:
        """Return the report."""
        request, settings, scenario = self.request, self.settings, self.request.scenario
        seeds = range(self.first, self.first + request.seeds)
        on_step(f"comparing with {request.seeds} fresh seeds")
        before, *_ = self.runs.run([settings.today, *self.found.ranked[:1]], seeds)
        assert before is not None
        card = self.runs.card(settings.today, before)
        chosen, best, after = None, card, before
        gains: tuple[MetricChange, ...] = ()
        for candidate in self.found.ranked[:_FINALISTS]:
            [runs] = self.runs.run([candidate], seeds)
            if runs is None:
                continue
            compared = area_gains(before, runs)
            graded = self.runs.card(candidate, runs)
            if any(gain.direction < 0 for gain in compared) and not graded.is_worse_than(card):
                chosen, best, after, gains = candidate, graded, runs, compared
                break
        titles = {situation.key: situation.title for situation in self.situations}
        rollout = None
        if chosen is not None:
            on_step("simulating the rollout")
            rollout = simulate_rollout(settings, chosen, card, best, self.runs.run_requests, seeds)
        return CheckupReport(
            application=scenario.blueprint.application.id,
            scenario=scenario.name,
            size=_size(scenario),
            facts=facts(scenario, settings),
            verdict="already_best" if chosen is None else "recommended",
            today=card,
            recommended=None if chosen is None else best,
            changes=() if chosen is None else settings.changes(chosen),
            gains=gains,
            situations=tuple(situation_figures(one.key, one.title, before, after) for one in self.situations),
            findings=findings(card, list(self.found.single.values()), titles, _evidence(before)),
            rollout=rollout,
            cards=tuple(sorted(self.found.cards.values(), key=lambda one: one.total)),
            left_out=tuple((one.title, one.reason) for one in self.left_out),
            notes=tuple(scenario.notes),
            seeds=request.seeds,
            runs=self.runs.count,
        )


def facts(scenario: Scenario, settings: CheckupSettings) -> dict[str, Any]:
    """Return what the grades depend on: the topology, the clients, the brokers and the configs."""
    blueprint = scenario.blueprint
    partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
    clients = [client for client in blueprint.clients if client.starts]
    configs = settings.space.values(settings.space.today)
    return {
        "topics": {
            topic: partitions.get(topic)
            for topic in sorted({topic for one in blueprint.application.subtopologies for topic in one.source_topics})
        },
        "subtopologies": {
            str(one.id): f"{', '.join(sorted(one.source_topics))}; stores: "
            f"{', '.join(sorted(store.name for store in one.stores)) or 'none'}"
            for one in blueprint.application.subtopologies
        },
        "clients": len(clients),
        "threads": sum(client.threads for client in clients),
        "client racks": _counts(client.rack for client in clients),
        "broker racks": _counts(broker.rack for broker in blueprint.brokers),
        "configs": {key: None if value is None else str(value) for key, value in configs.items()},
        "static members": sum(client.is_static for client in clients),
    }


def _counts(racks: Any) -> dict[str, int]:
    counts = Counter("unknown" if rack is None else str(rack) for rack in racks)
    return dict(sorted(counts.items()))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(scenario: Scenario) -> str:
    blueprint = scenario.blueprint
    clients = [client for client in blueprint.clients if client.starts]
    racks = {client.rack for client in clients if client.rack is not None}
    zones = f"{len(racks)} zone{'' if len(racks) == 1 else 's'}" if racks else "unknown zones"
    return (
        f"{_counted(count_tasks(scenario), 'task')} on {_counted(len(clients), 'instance')} with "
        f"{_counted(sum(client.threads for client in clients), 'thread')} in {zones}, "
        f"{_counted(len(blueprint.brokers), 'broker')}"
    )


def _evidence(before: SeedRuns) -> Mapping[str, str]:
    """Return further figures by area: what crosses zones, and partitions that a failure makes unavailable."""
    steady = [run["steady"] for run in before]
    partitions, rates = (
        [run.metrics[name] for run in steady] for name in ("cross_rack_source_partitions", "cross_rack_bytes_per_s")
    )
    evidence = {}
    if None not in partitions:
        text = f"{format_number(mean(partitions))} of {steady[0].source_partitions:,} partitions are read across zones"
        text += "" if None in rates else f", {format_rate(mean(rates))} cross in all"
        evidence["bill"] = text
    key = worst_situation(AREA["availability"], before[0])
    unavailable = 0 if key is None else before[0][key].metrics["unavailable_partitions"]
    if unavailable:
        evidence["availability"] = (
            f"{unavailable:,} partition{' has' if unavailable == 1 else 's have'} no leader or too few in-sync "
            "replicas in the failure, so no setting of the application helps: check their replication factors"
        )
    return evidence
