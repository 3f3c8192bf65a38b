"""Verification of stored results: tolerances, differences to current results, and changed inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final

import pyarrow as pa

from reports.analysis.expectations import ExpectationResult, summarize
from reports.analysis.metrics import METRIC
from reports.analysis.stored.invariant_case import InvariantCheck
from reports.analysis.stored.results import (
    ROUND_KEYS,
    ResultOrigin,
    RunKey,
    StoredResults,
    StoredRun,
    placements_by_round,
)
from reports.analysis.text import printable
from simulator.plurals import counted
from simulator.results.run_metrics import metric_hint
from simulator.results.tables import SCHEMAS

_STORED_PRECISION: Final = 1e-8
"""Relative precision of stored floats: they have nine digits, the last of which may differ between processors."""


class ToleranceError(ValueError):
    """A tolerance is not valid."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much a metric may differ from its stored value.

    Attributes:
        share: share of the stored value.
        amount: amount in the unit of the metric.
    """

    share: float = 0.0
    amount: float = 0.0

    def allows(self, before: float, after: float) -> bool:
        """Return whether the difference is within the tolerance."""
        return abs(after - before) <= max(self.share * abs(before), self.amount)


def parse_tolerances(texts: Iterable[str]) -> dict[str, Tolerance]:
    """Parse tolerances for columns of the table `runs`.

    `texts`: `metric=5%` or `metric=3`. Returns tolerances by metric. Raises ToleranceError if a text is not valid.
    """
    metrics = [field.name for field in SCHEMAS["runs"] if field.name != "seed" and not pa.types.is_string(field.type)]
    return {text.partition("=")[0]: parse_tolerance("--tolerance", text, metrics) for text in texts}


def is_same(name: str, before: Any, after: Any, allowed: Mapping[str, Tolerance]) -> bool:
    """Return whether a value is the stored one, up to its stored precision and its tolerance.

    `name`: key of the metric.
    """
    if before == after or not all(isinstance(value, int | float) for value in (before, after)):
        return bool(before == after)
    if isinstance(before, float) and math.isclose(before, after, rel_tol=_STORED_PRECISION):
        return True
    return name in allowed and allowed[name].allows(before, after)


def parse_tolerance(option: str, text: str, metrics: Sequence[str]) -> Tolerance:
    """Parse a tolerance.

    `option`: name of the option, for messages; `text`: `metric=5%` or `metric=3`; `metrics`: keys of the valid metrics.
    Raises ToleranceError if the text is not valid.
    """
    name, _, size = text.partition("=")
    if name not in metrics:
        raise ToleranceError(f"{option} {text}: '{name}' is not a metric ({metric_hint(name, metrics)})")
    try:
        value = float(size.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not (0 <= value < math.inf):
        raise ToleranceError(f"{option} {text}: expected METRIC=5% or METRIC=3, not negative")
    return Tolerance(share=value / 100) if size.endswith("%") else Tolerance(amount=value)


@dataclass(frozen=True, slots=True)
class ResultChange:
    """A difference between stored and current results.

    Attributes:
        assignor: label of the assignor.
        seed: seed of the run.
        kind: run, metric, removed metric, round or task.
        name: key of the metric, key of the round's record, or task id; `run` for a run.
        round: number of the round; None for runs and metrics.
        before: stored value; for a task, its client and those of its standbys.
        after: current value.
    """

    assignor: str
    seed: int
    kind: str
    name: str
    round: int | None
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.kind == "run":
            return "not stored" if self.after else "stored, but no longer run"
        if self.kind == "metric":
            before, after = self._values()
            return f"{self.name}: stored {before}, now {after}{self._difference()}"
        if self.kind == "removed metric":
            return f"{self.name}: stored {_value(self.before)}; this version has no such metric, record again"
        if self.kind == "round":
            if self.name == "round":
                return f"round {self.round}: " + ("not stored" if self.after else "stored, but no longer happens")
            return f"round {self.round}: {self.name}: stored {_value(self.before)}, now {_value(self.after)}"
        task = printable(self.name)
        return f"round {self.round}: task {task}: stored {_clients(self.before)}, now {_clients(self.after)}"

    def _values(self) -> tuple[str, str]:
        """Return both values, formatted as the metric if that makes the difference visible."""
        if self.name in METRIC and _is_number(self.before) and _is_number(self.after):
            before, after = map(METRIC[self.name].write, (self.before, self.after))
            if before != after:
                return before, after
        return _value(self.before), _value(self.after)

    def _difference(self) -> str:
        if not _is_number(self.before) or not _is_number(self.after):
            return ""
        parts = [f"{100 * (self.after - self.before) / abs(self.before):+.3g} %"] if self.before else []
        if self.name in METRIC and METRIC[self.name].lower_is_better:
            parts.append("worse" if self.after > self.before else "better")
        return f" ({', '.join(parts)})" if parts else ""


@dataclass(frozen=True, slots=True)
class InputChanges:
    """Inputs that changed since results were stored.

    Attributes:
        scenario: changed parts of the scenario: its text, and imported files by name.
        model: model versions then and now; None if equal.
        versions: name, old version and new version of each package that changed.
    """

    scenario: tuple[str, ...]
    model: tuple[int, int] | None
    versions: tuple[tuple[str, str, str], ...]

    @property
    def kind(self) -> str:
        """The changed input that explains a difference: scenario, model, both or other."""
        if self.scenario:
            return "both" if self.model else "scenario"
        return "model" if self.model else "other"

    def __str__(self) -> str:
        parts = []
        if self.scenario:
            parts.append(f"the scenario has changed since ({', '.join(map(printable, self.scenario))})")
        if self.model:
            parts.append("the model of assignor-sim has changed since ({} then, {} now)".format(*self.model))
        if not parts:
            parts.append(
                "neither the scenario nor the model has changed" + ("" if self.versions else ", nor any version")
            )
        if self.versions:
            parts.append("versions: " + ", ".join(f"{name} {old} then, {new} now" for name, old, new in self.versions))
        return "; ".join(parts)


def compare_origins(before: ResultOrigin, now: ResultOrigin) -> InputChanges:
    """Return the inputs that differ between stored and current results."""
    names = sorted({*before.imports, *now.imports})
    text = ["its text"] if before.scenario != now.scenario else []
    versions = sorted({*before.versions, *now.versions})
    return InputChanges(
        scenario=(*text, *(name for name in names if before.imports.get(name) != now.imports.get(name))),
        model=(before.model, now.model) if before.model != now.model else None,
        versions=tuple(
            (name, before.versions.get(name, "none"), now.versions.get(name, "none"))
            for name in versions
            if before.versions.get(name) != now.versions.get(name)
        ),
    )


def compare_results(
    before: StoredResults,
    now: StoredResults,
    allowed: Mapping[str, Tolerance] | None = None,
    *,
    metrics_only: bool = False,
) -> list[ResultChange]:
    """Return the differences between stored and current results.

    A metric that was added since is not in the stored results, so it is not compared. One that was removed since is a
    difference: what is stored of it can no longer be verified. `allowed`: tolerances by metric; none by default.
    `metrics_only` says whether to compare metrics only, not the rounds.
    """
    changes: list[ResultChange] = []
    for key, run in now.runs.items():
        if key not in before.runs:
            changes.append(ResultChange(*key, "run", "run", None, False, True))
            continue
        changes += _metric_changes(key, before.runs[key], run, allowed or {})
        if not metrics_only:
            changes += _round_changes(key, before.runs[key], run)
    return changes + [ResultChange(*key, "run", "run", None, True, False) for key in before.runs if key not in now.runs]


def _metric_changes(
    key: RunKey, old: StoredRun, new: StoredRun, allowed: Mapping[str, Tolerance]
) -> Iterator[ResultChange]:
    for name, before in old.figures.items():
        if name not in new.figures:
            yield ResultChange(*key, "removed metric", name, None, before, None)
        elif not is_same(name, before, new.figures[name], allowed):
            yield ResultChange(*key, "metric", name, None, before, new.figures[name])


def _round_changes(key: RunKey, old: StoredRun, new: StoredRun) -> Iterator[ResultChange]:
    """Yield the differences of each round; a persisting difference of a task only in its first round."""
    previous: dict[str, Any] = {}
    records = zip_longest(old.rounds, new.rounds)
    placements = zip_longest(placements_by_round(old.rounds), placements_by_round(new.rounds))
    for (before, after), (old_placements, new_placements) in zip(records, placements, strict=True):
        if before is None or after is None:
            number = (before or after)["round"]
            yield ResultChange(*key, "round", "round", number, before is not None, after is not None)
            continue
        known = old_placements is not None and new_placements is not None
        tasks = _task_changes(old_placements or {}, new_placements or {}) if known else {}
        names = [name for name in ROUND_KEYS if before.get(name) != after[name]]
        if not tasks and before["digest"] != after["digest"]:
            names.append("digest")
        number = after["round"]
        yield from (ResultChange(*key, "round", name, number, before.get(name), after[name]) for name in names)
        for task, (old_clients, new_clients) in tasks.items():
            if previous.get(task) != (old_clients, new_clients):
                yield ResultChange(*key, "task", task, number, old_clients, new_clients)
        previous = tasks


def _task_changes(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {
        task: (list(before.get(task, ())), list(after.get(task, ())))
        for task in dict.fromkeys((*before, *after))
        if list(before.get(task, ())) != list(after.get(task, ()))
    }


def _clients(clients: Sequence[str | None]) -> str:
    """Return `on pod-6, standby on pod-1`."""
    if not clients:
        return "not assigned"
    active, *standbys = clients
    text = "not running" if active is None else f"on {printable(active)}"
    return text + (f", standby on {', '.join(printable(str(client)) for client in standbys)}" if standbys else "")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    return "null" if value is None else f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class VerificationStatus(StrEnum):
    """Whether a scenario still has its stored results.

    Attributes:
        SAME: the current results are the stored ones.
        MET: the scenario has no stored results; its expectations are met, and its invariants hold.
        CHANGED: the current results differ from the stored ones.
        UNMET: expectations of the scenario are not met, or cannot be checked, or invariants are violated; the results
            may differ, too.
        UNREADABLE: the scenario could not be read or run, or its stored results could not be read.
        NOT_STORED: the scenario has no stored results.
    """

    SAME = "same"
    MET = "met"
    CHANGED = "changed"
    UNMET = "not met"
    UNREADABLE = "error"
    NOT_STORED = "not stored"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying one scenario.

    Attributes:
        file: file of the scenario.
        status: whether the current results are the stored ones.
        changes: differences from the stored results.
        causes: changes of scenario, model and versions since the results were stored; None without stored results.
        error: why it could not be verified; empty if it could.
        runs: assignor and seed of each compared run.
        seconds: duration of the verification.
        expectations: the expectations of the scenario, checked.
        invariants: the invariants of a case that fuzzing found, checked.
    """

    file: str
    status: VerificationStatus
    changes: Sequence[ResultChange] = ()
    causes: InputChanges | None = None
    error: str = ""
    runs: Sequence[tuple[str, int]] = ()
    seconds: float = 0.0
    expectations: Sequence[ExpectationResult] = ()
    invariants: Sequence[InvariantCheck] = ()

    @property
    def passes(self) -> bool:
        """Whether the results are the stored ones, if there are any, and meet the expectations."""
        return self.status in (VerificationStatus.SAME, VerificationStatus.MET)

    @property
    def unmet(self) -> list[ExpectationResult | InvariantCheck]:
        """The expectations that are not met or could not be checked, and the violated invariants."""
        checks: list[ExpectationResult | InvariantCheck] = [*self.expectations, *self.invariants]
        return [check for check in checks if not check.is_met]

    @property
    def headline(self) -> str:
        """The result in one line."""
        match self.status:
            case VerificationStatus.SAME:
                has_changes = self.causes is not None and self.causes.kind != "other"
                expected = f", {self._checks}" if self._checks else ""
                return f"as stored{expected}" + (f", although {self.causes}" if has_changes else "")
            case VerificationStatus.MET:
                return f"{self._checks}; no stored results"
            case VerificationStatus.CHANGED:
                return self._differences
            case VerificationStatus.UNMET:
                if self.causes is None:
                    stored = "no stored results"
                else:
                    stored = self._differences if self.changes else "results as stored"
                return f"{self._checks}; {stored}"
            case VerificationStatus.NOT_STORED:
                return f"no stored results; run assignor-sim record {printable(self.file)}"
            case VerificationStatus.UNREADABLE:
                return self.error

    @property
    def _checks(self) -> str:
        """The numbers of met expectations and of violated invariants."""
        parts = [f"expectations: {summarize(self.expectations)}"] if self.expectations else []
        if self.invariants:
            violated = sum(not check.is_met for check in self.invariants)
            counts = ((len(self.invariants) - violated, "held"), (violated, "violated"))
            parts.append("invariants: " + ", ".join(f"{count} {word}" for count, word in counts if count))
        return "; ".join(parts)

    @property
    def _differences(self) -> str:
        return f"{counted(len(self.changes), 'difference')}; {self.causes}"
