"""The checkup of an application or a consumer group: its grades, findings, the best change, and its rollout.

The search for a better setting tries single changes first, then combinations of helpful changes.

Guarantees: the result depends on the scenario and the options only, not on the number of processes. A setting is
recommended only if no area has a worse grade, and if with seeds that the search did not use at least one area is
significantly better.

Complexity: situations times settings times `SEARCH_SEEDS` runs; settings that the situations with the highest figures
rule out are not run in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from pipeline.checkup.group_program import GroupProgram
from pipeline.checkup.program import CheckupProgram, Setting
from pipeline.checkup.runs import SituationRequest, SituationRuns, by_seed
from pipeline.checkup.streams_program import StreamsProgram
from pipeline.pool import RunAll
from pipeline.recommend.errors import RecommendError
from reports.analysis.checkup.area import SituationRun
from reports.analysis.checkup.findings import findings
from reports.analysis.checkup.report import (
    NOTICEABLE,
    CheckupReport,
    ReportCard,
    area_gains,
    report_card,
    situation_figures,
)
from reports.analysis.recommendation import MetricChange
from scenarios.checkup.situations import Situation
from scenarios.load import Scenario

SEARCH_SEEDS: Final = 2
"""Seeds of each setting that the search tries."""

_GAIN: Final = 0.1
"""Smallest gain of the sum of positions for which a change is kept."""


@dataclass(slots=True, eq=False)
class SettingRuns(Generic[Setting]):
    """Runs settings in situations, and keeps what was run.

    Attributes:
        program: the settings, situations and areas of the scenario.
        count: number of runs so far.
    """

    program: CheckupProgram[Setting]
    run_requests: SituationRuns
    count: int = 0
    _known: dict[tuple[Setting, str, tuple[int, ...]], list[SituationRun] | str] = field(default_factory=dict)

    def run(
        self, settings: Sequence[Setting], seeds: Sequence[int], keys: Collection[str] | None = None
    ) -> list[list[dict[str, SituationRun]] | None]:
        """Run settings with seeds.

        `keys`: keys of the situations; None for all. Returns, for each setting, the runs by seed and situation; None if
        it is invalid in this scenario.
        """
        wanted = tuple(seeds)
        chosen = [one for one in self.program.situations if keys is None or one.key in keys]
        new = [
            (setting, situation)
            for setting in dict.fromkeys(settings)
            for situation in chosen
            if (setting, situation.key, wanted) not in self._known
        ]
        answers = self.run_requests([self._request(setting, situation, wanted) for setting, situation in new])
        for (setting, situation), answer in zip(new, answers, strict=True):
            self._known[setting, situation.key, wanted] = answer
            self.count += 0 if isinstance(answer, str) else len(wanted)
        return [self._of_setting(setting, [one.key for one in chosen], wanted) for setting in settings]

    def cards(
        self, settings: Sequence[Setting], seeds: Sequence[int], keys: Collection[str] | None = None
    ) -> dict[Setting, ReportCard]:
        """Return the report cards of the settings that are valid; see `run`."""
        return {
            setting: self.card(setting, runs, is_partial=keys is not None)
            for setting, runs in zip(settings, self.run(settings, seeds, keys), strict=True)
            if runs is not None
        }

    def card(
        self, setting: Setting, runs: Sequence[dict[str, SituationRun]], *, is_partial: bool = False
    ) -> ReportCard:
        """Return the report card of a setting."""
        return report_card(
            self.program.settings.describe(setting),
            runs,
            self.program.areas,
            is_migration=self.program.settings.is_migration(setting),
            is_partial=is_partial,
        )

    def why_invalid(self, setting: Setting) -> str:
        """Return why a setting that was run is invalid in this scenario."""
        errors = (answer for (one, *_), answer in self._known.items() if one == setting and isinstance(answer, str))
        return next(errors, "")

    def _of_setting(
        self, setting: Setting, keys: Sequence[str], seeds: tuple[int, ...]
    ) -> list[dict[str, SituationRun]] | None:
        runs = []
        for key in keys:
            answer = self._known[setting, key, seeds]
            if isinstance(answer, str):
                return None
            runs.append(answer)
        return by_seed(keys, runs)

    def _request(self, setting: Setting, situation: Situation, seeds: tuple[int, ...]) -> SituationRequest:
        settings = self.program.settings
        scenario = settings.scenario
        return SituationRequest(
            key=situation.key,
            document=settings.document(situation.document, setting),
            name=scenario.name,
            folder=None if scenario.path is None else scenario.path.parent,
            duration_ms=situation.duration_ms,
            seeds=seeds,
        )


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[Setting]):
    """The settings that were tried.

    Attributes:
        ranked: the settings that are better than the current one, the best first.
        cards: the report cards of all valid settings.
        single: those of the settings with a single change.
    """

    ranked: list[Setting]
    cards: dict[Setting, ReportCard]
    single: dict[Setting, ReportCard]


def search(runs: SettingRuns[Setting], seeds: Sequence[int]) -> SearchResult[Setting]:
    """Search for the setting with the lowest sum of positions whose grades are nowhere worse than today's.

    Returns the better settings, and all report cards.
    """
    return _SettingSearch(runs, seeds).result()


class _SettingSearch(Generic[Setting]):
    """The state of a search."""

    def __init__(self, runs: SettingRuns[Setting], seeds: Sequence[int]) -> None:
        self._runs = runs
        self._seeds = seeds
        self._today = runs.program.settings.today
        self._reference = runs.cards([self._today], seeds)[self._today]
        self._cards = {self._today: self._reference}
        # The figure of an area is the highest of its situations: those that decide today bound it from below.
        self._deciding = {graded.situation for graded in self._reference.areas if graded.situation is not None}

    def result(self) -> SearchResult[Setting]:
        settings, cards = self._runs.program.settings, self._cards
        changes = settings.single_changes()
        self._runs.run_requests.begin(f"trying {len(changes)} changes of the current setting")
        self._grade(changes, self._reference)
        single = {setting: card for setting, card in cards.items() if setting != self._today}
        helping = sorted(
            (one for one in single if self._can_help(one) and _gain(cards[one], self._reference) >= _GAIN),
            key=lambda one: cards[one].total,
        )
        self._runs.run_requests.begin(f"combining {len(helping)} changes that help")
        best = self._today
        for change in (*helping, *helping):  # A change may need a later one: standbys take long without more warm-ups.
            combined = change if best == self._today else settings.combine(best, change)
            if combined is not None:
                best = self._better(best, [combined])
        self._runs.run_requests.begin("leaving out changes that do not help")
        best = self._simplified(best)
        others = [one for one in cards if one not in (best, self._today) and self._is_allowed(one)]
        ranked = sorted(others, key=lambda one: cards[one].total)
        better = [one for one in ranked if _gain(cards[one], self._reference) >= _GAIN]
        return SearchResult([best, *better] if best != self._today else better, cards, single)

    def _grade(self, settings: Sequence[Setting], reference: ReportCard) -> None:
        """Grade settings: in the deciding situations first, and in all if they can still be better than a reference."""
        new = [setting for setting in settings if setting not in self._cards]
        screened = self._runs.cards(new, self._seeds, self._deciding)
        promising = [
            setting
            for setting, card in screened.items()
            if _gain(card, reference) >= _GAIN
            or any(
                before.position - after.position >= NOTICEABLE
                for before, after in zip(self._reference.areas, card.areas, strict=True)
            )
        ]
        self._cards |= screened | self._runs.cards(promising, self._seeds)

    def _can_help(self, setting: Setting) -> bool:
        """Return whether a setting was run in all situations, and needs no migration."""
        card = self._cards.get(setting)
        return card is not None and not card.is_partial and not card.is_migration

    def _is_allowed(self, setting: Setting) -> bool:
        """Return whether a setting can help, and has no worse grade."""
        return self._can_help(setting) and not self._cards[setting].is_worse_than(self._reference)

    def _better(self, best: Setting, others: Sequence[Setting]) -> Setting:
        """Return the first of some settings that is better than the best one; else the best one."""
        self._grade(others, self._cards[best])
        for other in others:
            if self._is_allowed(other) and _gain(self._cards[other], self._cards[best]) >= _GAIN:
                return other
        return best

    def _simplified(self, best: Setting) -> Setting:
        """Return a setting without the changes that do not help."""
        for smaller in self._runs.program.settings.without_each_change(best):
            self._cards |= self._runs.cards([smaller], self._seeds) if smaller not in self._cards else {}
            if self._is_allowed(smaller) and _gain(self._cards[best], self._cards[smaller]) < _GAIN:
                return self._simplified(smaller)
        return best


def _gain(card: ReportCard, other: ReportCard) -> float:
    """Return by how much a report card is better than another one."""
    return other.total - card.total


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
    run_all: RunAll,
    on_progress: Callable[[str], None] = lambda _: None,
    on_first: Callable[[ReportCard], None] = lambda _: None,
) -> CheckupReport:
    """Run the standard situations, grade the current setting, and search for a better one.

    `request`: what to check; `on_first`: called with the report card of the current setting over `FIRST_SEEDS` seeds,
    before the search. Raises RecommendError if a situation is invalid with the current setting.
    """
    program = checkup_program(request.scenario, request.today)
    return _run(program, request, SituationRuns(run_all, on_progress), on_first)


def checkup_program(scenario: Scenario, today: str | None) -> CheckupProgram[Any]:
    """Return the program for the subject of a scenario.

    `today`: label of its current assignor; None for the first. Raises RecommendError if no assignor has this label, or
    no client is up at the start.
    """
    if not any(client.starts for client in scenario.blueprint.clients):
        name = scenario.blueprint.application.id
        raise RecommendError(f"{scenario.name}: no client of '{name}' is up at the start; a checkup needs one")
    return StreamsProgram(scenario, today) if scenario.group is None else GroupProgram(scenario, today)


def _run(
    program: CheckupProgram[Setting],
    request: CheckupRequest,
    run_requests: SituationRuns,
    on_first: Callable[[ReportCard], None],
) -> CheckupReport:
    runs = SettingRuns(program, run_requests)
    today, first = program.settings.today, request.seed
    run_requests.begin("running the current setting")
    first_cards = runs.cards([today], range(first, first + FIRST_SEEDS))
    if today not in first_cards:
        raise RecommendError(f"{request.scenario.name}: {runs.why_invalid(today)}")
    on_first(first_cards[today])
    first += FIRST_SEEDS
    found = search(runs, range(first, first + SEARCH_SEEDS))
    first += SEARCH_SEEDS
    return _Comparison(request, program, runs, found, first).report()


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison(Generic[Setting]):
    """Compares the current and the best setting with fresh seeds.

    Attributes:
        request: what to check.
        program: the settings, situations and areas.
        runs: runs settings.
        first: the first fresh seed.
    """

    request: CheckupRequest
    program: CheckupProgram[Setting]
    runs: SettingRuns[Setting]
    found: SearchResult[Setting]
    first: int

    def report(self) -> CheckupReport:
        """Return the report."""
        request, program, scenario = self.request, self.program, self.request.scenario
        settings = program.settings
        seeds = range(self.first, self.first + request.seeds)
        self.runs.run_requests.begin(f"comparing with {request.seeds} fresh seeds")
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
            self.runs.run_requests.begin("simulating the rollout")
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
