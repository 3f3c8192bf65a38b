"""The checkup of an application or a consumer group: its grades, findings, the best change, and its rollout.

The search for a better setting tries single changes first, then combinations of helpful changes.

Guarantees: the result depends on the scenario and the options only, not on the number of processes, and on the clock
only if the time is limited. A setting is recommended only if no area has a worse grade, and if with seeds that the
search did not use at least one area is significantly better.

Complexity: situations times settings times `SEARCH_SEEDS` runs; a setting that some situations rule out is not run in
the others, and the longest situation, if it decides no grade of the current setting, is run with those settings only
that the report is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic

from pipeline.advise.evaluator import Answer, Evaluator, Setting, SettingRuns, SituationRequest, SituationRuns
from pipeline.advise.group import GroupProgram
from pipeline.advise.objective import RecommendError
from pipeline.advise.program import CheckupProgram
from pipeline.advise.streams import StreamsProgram
from pipeline.pool import RunAll
from reports.analysis.checkup.report import (
    NOTICEABLE,
    CheckupReport,
    ReportCard,
    area_gains,
    findings,
    report_card,
    situation_figures,
)
from reports.analysis.recommendation import MetricChange
from scenarios.load import Scenario

SEARCH_SEEDS: Final = 2
"""Seeds of each setting that the search tries."""

_GAIN: Final = 0.1
"""Smallest gain of the sum of positions for which a change is kept."""

_LONG: Final = 0.2
"""Share of all rebalances from which on a situation is too long for each setting."""


class GradeEvaluator(Evaluator[Setting, ReportCard]):
    """Evaluates settings by grades over situations. `program`: the situations, settings and areas."""

    def __init__(self, program: CheckupProgram[Setting], run_requests: SituationRuns, first_seed: int) -> None:
        """Choose what to grade, and what runs situations."""
        self._situations = {situation.key: situation for situation in program.situations}
        super().__init__(tuple(self._situations), first_seed)
        self.program = program
        self.run_requests = run_requests

    def answer(self, pairs: Sequence[tuple[Setting, str]], seeds: Sequence[int]) -> Sequence[Answer]:
        """Run settings in situations with each seed."""
        program = self.program
        requests = []
        for setting, key in pairs:
            situation = self._situations[key]
            document = program.document(situation.document, setting)
            requests.append(SituationRequest.of(program.scenario, key, document, situation.duration_ms, seeds))
        return self.run_requests(requests)

    def assess(self, setting: Setting, runs: SettingRuns, *, is_partial: bool = False) -> ReportCard:
        """Return the report card of a setting."""
        program = self.program
        text, is_migration = program.describe(setting), program.is_migration(setting)
        return report_card(text, runs, program.areas, is_migration=is_migration, is_partial=is_partial)

    def rebalances(self, setting: Setting, seeds: Sequence[int]) -> dict[str, int]:
        """Return the rebalances of a valid setting in each situation, with all seeds together."""
        [runs] = self.run([setting], seeds)
        assert runs is not None
        return {key: sum(run[key].metrics["rebalances"] for run in runs) for key in self.situations}

    def deciding(self, seeds: Sequence[int]) -> tuple[str, ...]:
        """Return the situations of the search: all but the longest, if no figure of today's report card is from it."""
        today = self.program.today
        rebalances = self.rebalances(today, seeds)
        longest = max(self.situations, key=rebalances.__getitem__)
        others = tuple(key for key in self.situations if key != longest)
        cards = [self.evaluate([today], seeds, situations)[today] for situations in (others, None)]
        is_short = rebalances[longest] < _LONG * sum(rebalances.values())
        return self.situations if is_short or cards[0].areas != cards[1].areas else others


class _SettingSearch(Generic[Setting]):
    """Searches for the setting with the lowest sum of positions whose grades are nowhere worse than today's.

    Attributes:
        ranked: the settings that are better than the current one, the best first.
        single: the report cards of the settings with a single change that were run in all situations of the search.
        is_cut: whether it was over before all settings were tried.
    """

    def __init__(
        self,
        evaluator: GradeEvaluator[Setting],
        seeds: Sequence[int],
        situations: Sequence[str],
        is_over: Callable[[], bool],
    ) -> None:
        self._evaluator, self._program, self._seeds, self._is_over = evaluator, evaluator.program, seeds, is_over
        self._situations = situations
        self._today = evaluator.program.today
        self._reference = evaluator.evaluate([self._today], seeds, situations)[self._today]
        self._cards = {self._today: self._reference}
        self._complete = {self._today}
        self._stages = self._in_stages(self._reference)
        self.single: dict[Setting, ReportCard] = {}
        self.is_cut = False
        self.ranked = self._search()

    def _search(self) -> list[Setting]:
        begin, cards, today = self._evaluator.run_requests.begin, self._cards, self._today
        changes = list(dict.fromkeys(self._program.single_changes()))
        begin(f"trying {len(changes)} changes of the current setting")
        self._grade(changes, self._is_notable)
        self.single = {setting: cards[setting] for setting in cards if setting in self._complete - {today}}
        helping = sorted(
            (one for one in self.single if self._can_help(one) and self._gain(one, today) >= _GAIN),
            key=lambda one: cards[one].total,
        )
        begin(f"combining {len(helping)} changes that help")
        best = today
        for change in (*helping, *helping):  # A change may need a later one: standbys take long without more warm-ups.
            combined = change if best == today else self._program.combine(best, change)
            if combined is not None:
                self._grade([combined], partial(self._can_replace, best))
                if self._is_allowed(combined) and self._gain(combined, best) >= _GAIN:
                    best = combined
        begin("leaving out changes that do not help")
        best = self._simplified(best)
        others = [one for one in cards if one not in (best, today) and self._is_allowed(one)]
        ranked = sorted(others, key=lambda one: cards[one].total)
        better = [one for one in ranked if self._gain(one, today) >= _GAIN]
        return [best, *better] if best != today else better

    def _in_stages(self, card: ReportCard) -> list[list[str]]:
        """Return the situations that decide a report card, and then the others, one by one, the shortest run first."""
        deciding = {graded.situation for graded in card.areas}
        rebalances = self._evaluator.rebalances(self._today, self._seeds)
        others = sorted((key for key in self._situations if key not in deciding), key=rebalances.__getitem__)
        return [[key for key in self._situations if key in deciding], *([key] for key in others)]

    def _grade(self, settings: Sequence[Setting], is_promising: Callable[[ReportCard], bool]) -> None:
        """Grade settings stage by stage, as long as they are promising.

        The figure of an area is the highest of its situations, so those of the first stages bound it from below.
        """
        new = [setting for setting in settings if setting not in self._cards]
        # With limited time, setting by setting: at its end, some are known whole, instead of all of them in part.
        for batch in [new] if self._is_over is never else [[setting] for setting in new]:
            for number in range(1, len(self._stages) + 1):
                batch = self._screen(batch, number, is_promising)

    def _screen(
        self, settings: Sequence[Setting], number: int, is_promising: Callable[[ReportCard], bool]
    ) -> list[Setting]:
        """Return the settings that are promising after a number of stages; none if the time is over."""
        if settings and self._is_over():
            self.is_cut = True
            return []
        seen = [key for stage in self._stages[:number] for key in stage]
        cards = self._evaluator.evaluate(settings, self._seeds, seen)
        self._cards |= cards
        self._complete.update(cards if number == len(self._stages) else ())
        return [setting for setting, card in cards.items() if is_promising(card)]

    def _is_notable(self, card: ReportCard) -> bool:
        """Return whether a setting with one change may be better than today's, in all or in an area."""
        return self._reference.total - card.total >= _GAIN or any(
            before.position - after.position >= NOTICEABLE
            for before, after in zip(self._reference.areas, card.areas, strict=True)
        )

    def _can_replace(self, best: Setting, card: ReportCard) -> bool:
        """Return whether a setting may be better than the best one, without a worse grade than today's."""
        return self._cards[best].total - card.total >= _GAIN and not card.is_worse_than(self._reference)

    def _is_as_good(self, best: Setting, card: ReportCard) -> bool:
        """Return whether a setting may be as good as the best one, without a worse grade than today's."""
        return card.total - self._cards[best].total < _GAIN and not card.is_worse_than(self._reference)

    def _can_help(self, setting: Setting) -> bool:
        """Return whether a setting was run in all situations of the search, and needs no migration."""
        return setting in self._complete and not self._cards[setting].is_migration

    def _is_allowed(self, setting: Setting) -> bool:
        """Return whether a setting can help, and has no worse grade."""
        return self._can_help(setting) and not self._cards[setting].is_worse_than(self._reference)

    def _gain(self, setting: Setting, other: Setting) -> float:
        """Return by how much a setting is better than another one."""
        return self._cards[other].total - self._cards[setting].total

    def _simplified(self, best: Setting) -> Setting:
        """Return a setting without the changes that do not help."""
        for smaller in self._program.without_each_change(best):
            self._grade([smaller], partial(self._is_as_good, best))
            if self._is_allowed(smaller) and self._gain(best, smaller) < _GAIN:
                return self._simplified(smaller)
        return best


FIRST_SEEDS: Final = 3
"""Seeds of the first report card."""

_SHARE_OF_COMPARISON: Final = 0.4
"""Share of the time that the search leaves to the comparison and the rollout."""

_FEWEST_SEEDS: Final = 3
_CUT: Final = "The time was over before all settings were tried with all seeds (--budget)."

_FINALISTS: Final = 3
"""Settings that are compared with the current one, until one is better."""


@dataclass(frozen=True, slots=True)
class CheckupRequest:
    """What to check.

    Attributes:
        today: label of its current assignor; None for the first.
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
    time_left: Callable[[], float] | None = None,
) -> CheckupReport:
    """Run the standard situations, grade the current setting, and search for a better one.

    `request`: what to check; `on_first`: called with the report card of the current setting over `FIRST_SEEDS` seeds,
    before the search; `time_left`: returns which share of the time is left, None for no limit: below
    `_SHARE_OF_COMPARISON`, no further setting is tried, and without any, no further seed. Raises RecommendError if a
    situation is invalid with the current setting.
    """
    program = checkup_program(request.scenario, request.today)
    evaluator = GradeEvaluator(program, SituationRuns(run_all, on_progress), request.seed)
    return _run(evaluator, request, on_first, time_left)


def checkup_program(scenario: Scenario, today: str | None) -> CheckupProgram[Any]:
    """Return the program for the subject of a scenario, whose current assignor has the label `today`, or is the first.

    Raises RecommendError if no assignor has this label, or no client is up at the start.
    """
    if not any(client.starts for client in scenario.blueprint.clients):
        name = scenario.blueprint.application.id
        raise RecommendError(f"{scenario.name}: no client of '{name}' is up at the start; a checkup needs one")
    return StreamsProgram(scenario, today) if scenario.group is None else GroupProgram(scenario, today)


def _run(
    evaluator: GradeEvaluator[Setting],
    request: CheckupRequest,
    on_first: Callable[[ReportCard], None],
    time_left: Callable[[], float] | None,
) -> CheckupReport:
    program, scenario, run_requests = evaluator.program, request.scenario, evaluator.run_requests
    run_requests.begin("running the current setting")
    # The comparison has the seeds that stored checkups have.
    drawn = evaluator.fresh_seeds(FIRST_SEEDS + SEARCH_SEEDS)
    first = evaluator.evaluate([program.today], drawn[:FIRST_SEEDS])
    if program.today not in first:
        raise RecommendError(f"{scenario.name}: {evaluator.why_invalid(program.today)}")
    on_first(first[program.today])
    is_over = never if time_left is None else lambda: time_left() < _SHARE_OF_COMPARISON
    search_seeds, seeds = drawn[:SEARCH_SEEDS], evaluator.fresh_seeds(request.seeds)
    situations = evaluator.deciding(search_seeds)
    search = _SettingSearch(evaluator, search_seeds, situations, is_over)
    run_requests.begin(comparing := f"comparing with {request.seeds} fresh seeds")
    finalists = [program.today, *search.ranked[:1]]
    if time_left is not None:
        seeds = _seeds_in_time(evaluator, finalists, seeds, time_left)
    before, *_ = evaluator.run(finalists, seeds)
    assert before is not None
    card = evaluator.assess(program.today, before)
    chosen = _first_better(evaluator, search.ranked, seeds, before, card)
    if chosen is None and search.ranked and situations != evaluator.situations:
        # Perhaps the situation without which the search took place excludes them, but not the next best.
        search = _SettingSearch(evaluator, search_seeds, evaluator.situations, is_over)
        run_requests.begin(comparing)
        chosen = _first_better(evaluator, search.ranked, seeds, before, card)
    rollout = None
    if chosen is not None:
        run_requests.begin("simulating the rollout")
        rollout = program.rollout(chosen.setting, card, chosen.card, run_requests, seeds)
    titles = {situation.key: situation.title for situation in program.situations}
    run_requests.begin("running the changes that help in all situations")
    setting_of = {id(single): setting for setting, single in search.single.items()}

    def complete(single: ReportCard) -> ReportCard:
        if time_left is not None and time_left() <= 0:
            return single
        setting = setting_of[id(single)]
        return evaluator.evaluate([setting], search_seeds)[setting]

    found = findings(card, list(search.single.values()), titles, program.evidence(before), complete)
    evaluator.evaluate([program.today], search_seeds)  # Its last card is that of the search, without a situation.
    return CheckupReport(
        subject=program.subject,
        application=scenario.blueprint.application.id,
        scenario=scenario.name,
        size=program.size(),
        facts=program.facts(),
        verdict="recommended" if chosen is not None else "out_of_time" if search.is_cut else "already_best",
        today=card,
        recommended=None if chosen is None else chosen.card,
        changes=() if chosen is None else program.changes(chosen.setting),
        gains=() if chosen is None else chosen.gains,
        situations=tuple(
            situation_figures(
                key,
                title,
                program.shown_metrics.get(key, program.other_metrics),
                before,
                before if chosen is None else chosen.runs,
            )
            for key, title in titles.items()
        ),
        findings=found,
        rollout=rollout,
        cards=tuple(sorted(evaluator.assessments.values(), key=lambda one: one.total)),
        left_out=tuple((one.title, one.reason) for one in program.left_out),
        remarks=(*([_CUT] if search.is_cut or len(seeds) < request.seeds else []), *program.remarks()),
        notes=tuple(scenario.notes),
        seeds=len(seeds),
        runs=evaluator.runs,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _BetterSetting(Generic[Setting]):
    """A setting that is better than the current one with fresh seeds: its runs, grades and gains."""

    setting: Setting
    runs: SettingRuns
    card: ReportCard
    gains: tuple[MetricChange, ...]


def _first_better(
    evaluator: GradeEvaluator[Setting],
    ranked: Sequence[Setting],
    seeds: Sequence[int],
    before: SettingRuns,
    today: ReportCard,
) -> _BetterSetting[Setting] | None:
    """Return the first finalist with a significant gain and without a worse grade; None if there is none."""
    for setting in ranked[:_FINALISTS]:
        [runs] = evaluator.run([setting], seeds)
        if runs is None:
            continue
        gains, card = area_gains(evaluator.program.areas, before, runs), evaluator.assess(setting, runs)
        if any(gain.direction < 0 for gain in gains) and not card.is_worse_than(today):
            return _BetterSetting(setting, runs, card, gains)
    return None


def never() -> bool:
    """Return False: there is no limit of time."""
    return False


def _seeds_in_time(
    evaluator: GradeEvaluator[Setting], settings: Sequence[Setting], seeds: range, time_left: Callable[[], float]
) -> range:
    """Return as many seeds as settings can run with in the time, at least `_FEWEST_SEEDS` or all."""
    count = min(_FEWEST_SEEDS, len(seeds))
    evaluator.run(settings, seeds[:count])
    while count < len(seeds) and time_left() > 0:
        count += 1
        evaluator.run(settings, seeds[:count])
    return seeds[:count]
