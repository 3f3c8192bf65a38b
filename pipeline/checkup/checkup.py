"""The checkup of an application or a consumer group: its grades, findings, the best change, and its rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic

from pipeline.checkup.group_program import GroupProgram
from pipeline.checkup.program import CheckupProgram, RunRequests, Setting
from pipeline.checkup.search import SEARCH_SEEDS, SearchResult, SettingRuns, search
from pipeline.checkup.streams_program import StreamsProgram
from pipeline.recommend.errors import RecommendError
from reports.analysis.checkup.findings import findings
from reports.analysis.checkup.report import (
    CheckupReport,
    ReportCard,
    area_gains,
    situation_figures,
)
from reports.analysis.recommendation import MetricChange
from scenarios.load import Scenario

FIRST_SEEDS: Final = 3
"""Seeds of the first report card."""

_FINALISTS: Final = 3
"""Settings that are compared with the current one, until one is better."""


@dataclass(frozen=True, slots=True)
class CheckupRequest:
    """What to check.

    Attributes:
        scenario: the scenario of the application or the consumer group; its own events do not take part.
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
    program = checkup_program(request.scenario, request.today)
    return _run(program, request, run_requests, on_step, on_first)


def checkup_program(scenario: Scenario, today: str | None) -> CheckupProgram[Any]:
    """Return the program for the subject of a scenario.

    Args:
        scenario: the scenario.
        today: label of its current assignor; None for the first.

    Raises:
        RecommendError: no assignor has this label, or no client is up at the start.
    """
    if not any(client.starts for client in scenario.blueprint.clients):
        name = scenario.blueprint.application.id
        raise RecommendError(f"{scenario.name}: no client of '{name}' is up at the start; a checkup needs one")
    return StreamsProgram(scenario, today) if scenario.group is None else GroupProgram(scenario, today)


def _run(
    program: CheckupProgram[Setting],
    request: CheckupRequest,
    run_requests: RunRequests,
    on_step: Callable[[str], None],
    on_first: Callable[[ReportCard], None],
) -> CheckupReport:
    runs = SettingRuns(program, run_requests)
    today, first = program.settings.today, request.seed
    on_step("running the current setting")
    first_cards = runs.cards([today], range(first, first + FIRST_SEEDS))
    if today not in first_cards:
        raise RecommendError(f"{request.scenario.name}: {runs.why_invalid(today)}")
    on_first(first_cards[today])
    first += FIRST_SEEDS
    found = search(runs, range(first, first + SEARCH_SEEDS), on_step)
    first += SEARCH_SEEDS
    return _Comparison(request, program, runs, found, first).report(on_step)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison(Generic[Setting]):
    """Compares the current and the best setting with fresh seeds.

    Attributes:
        request: what to check.
        program: the settings, situations and areas.
        runs: runs settings.
        found: the result of the search.
        first: the first fresh seed.
    """

    request: CheckupRequest
    program: CheckupProgram[Setting]
    runs: SettingRuns[Setting]
    found: SearchResult[Setting]
    first: int

    def report(self, on_step: Callable[[str], None]) -> CheckupReport:
        """Return the report."""
        request, program, scenario = self.request, self.program, self.request.scenario
        settings = program.settings
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
            compared = area_gains(program.areas, before, runs)
            graded = self.runs.card(candidate, runs)
            if any(gain.direction < 0 for gain in compared) and not graded.is_worse_than(card):
                chosen, best, after, gains = candidate, graded, runs, compared
                break
        titles = {situation.key: situation.title for situation in program.situations}
        rollout = None
        if chosen is not None:
            on_step("simulating the rollout")
            rollout = program.rollout(chosen, card, best, self.runs.run_requests, seeds)
        return CheckupReport(
            subject=program.subject,
            application=scenario.blueprint.application.id,
            scenario=scenario.name,
            size=program.size(),
            facts=program.facts(),
            verdict="already_best" if chosen is None else "recommended",
            today=card,
            recommended=None if chosen is None else best,
            changes=() if chosen is None else settings.changes(chosen),
            gains=gains,
            situations=tuple(
                situation_figures(one.key, one.title, program.shown_metrics(one.key), before, after)
                for one in program.situations
            ),
            findings=findings(card, list(self.found.single.values()), titles, program.evidence(before)),
            rollout=rollout,
            cards=tuple(sorted(self.found.cards.values(), key=lambda one: one.total)),
            left_out=tuple((one.title, one.reason) for one in program.left_out),
            remarks=program.remarks(),
            notes=tuple(scenario.notes),
            seeds=request.seeds,
            runs=self.runs.count,
        )
