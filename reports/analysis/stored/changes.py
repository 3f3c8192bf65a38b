"""What has changed since results were stored: which figure, which round, which tasks, and what may be behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from reports.analysis.metrics import METRIC
from reports.analysis.stored.results import ResultOrigin, RunKey, StoredResults, StoredRun
from reports.analysis.stored.rounds import OF_ROUND, restored
from reports.analysis.stored.tolerance import Tolerance, is_same
from reports.analysis.text import printable


@dataclass(frozen=True, slots=True)
class ResultChange:
    """One thing that is not as stored.

    Attributes:
        assignor: label of the assignor.
        seed: of the run.
        kind: run, metric, round or task.
        name: of the metric, of what is stored of a round, or of the task; for a run, `run`.
        round: the round; None for runs and metrics.
        before: what was stored; for tasks who ran it and who stood by.
        after: the same now.
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
            return "was not stored" if self.after else "is not run any more"
        if self.kind == "metric":
            before, after = self._figures()
            return f"{self.name}: {before} was stored, now {after}{self._how_much()}"
        if self.kind == "round":
            if self.name == "round":
                return f"round {self.round}: " + ("was not stored" if self.after else "does not come any more")
            return f"round {self.round}: {self.name} {_value(self.before)} was stored, now {_value(self.after)}"
        return f"round {self.round}: task {printable(self.name)} was {_place(self.before)}, now {_place(self.after)}"

    def _figures(self) -> tuple[str, str]:
        """Before and after as people read them, if that tells them apart."""
        if self.name in METRIC and _is_number(self.before) and _is_number(self.after):
            before, after = map(METRIC[self.name].write, (self.before, self.after))
            if before != after:
                return before, after
        return _value(self.before), _value(self.after)

    def _how_much(self) -> str:
        if not _is_number(self.before) or not _is_number(self.after):
            return ""
        said = [f"{100 * (self.after - self.before) / abs(self.before):+.3g} %"] if self.before else []
        if self.name in METRIC and METRIC[self.name].lower_is_better:
            said.append("worse" if self.after > self.before else "better")
        return f" ({', '.join(said)})" if said else ""


@dataclass(frozen=True, slots=True)
class InputChanges:
    """What else has changed since results were stored.

    Attributes:
        scenario: its parts that have: its text, files that it imports.
        model: the model's number then and now, if they differ.
        versions: name of a package, its version then and now.
    """

    scenario: tuple[str, ...]
    model: tuple[int, int] | None
    versions: tuple[tuple[str, str, str], ...]

    @property
    def kind(self) -> str:
        """What is behind a change, as far as that can be told: scenario, model, both or other."""
        if self.scenario:
            return "both" if self.model else "scenario"
        return "model" if self.model else "other"

    def __str__(self) -> str:
        said = []
        if self.scenario:
            said.append(f"the scenario has changed since ({', '.join(map(printable, self.scenario))})")
        if self.model:
            said.append("assignor-sim's model has changed since ({} then, {} now)".format(*self.model))
        if not said:
            said.append(
                "neither the scenario nor the model has changed" + ("" if self.versions else ", nor any version")
            )
        if self.versions:
            said.append("versions: " + ", ".join(f"{name} {then} then, {now} now" for name, then, now in self.versions))
        return "; ".join(said)


def causes(before: ResultOrigin, now: ResultOrigin) -> InputChanges:
    """What differs in what results were made from."""
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


def changes(
    before: StoredResults,
    now: StoredResults,
    allowed: Mapping[str, Tolerance] | None = None,
    *,
    metrics_only: bool = False,
) -> list[ResultChange]:
    """What has changed; empty if nothing has.

    Args:
        before: what was stored.
        now: what has come out.
        allowed: how far figures may be off, by name; not at all if they are not there.
        metrics_only: leave out what the single rounds decided.
    """
    found: list[ResultChange] = []
    for key, run in now.runs.items():
        if key not in before.runs:
            found.append(ResultChange(*key, "run", "run", None, False, True))
            continue
        found += _of_figures(key, before.runs[key], run, allowed or {})
        if not metrics_only:
            found += _of_rounds(key, before.runs[key], run)
    return found + [ResultChange(*key, "run", "run", None, True, False) for key in before.runs if key not in now.runs]


def _of_figures(
    key: RunKey, old: StoredRun, new: StoredRun, allowed: Mapping[str, Tolerance]
) -> Iterator[ResultChange]:
    for name in dict.fromkeys((*old.figures, *new.figures)):
        was, is_ = old.figures.get(name), new.figures.get(name)
        if not is_same(name, was, is_, allowed):
            yield ResultChange(*key, "metric", name, None, was, is_)


def _of_rounds(key: RunKey, old: StoredRun, new: StoredRun) -> Iterator[ResultChange]:
    """The rounds that differ; a task whose difference goes on is named in the first round that has it."""
    going_on: dict[str, Any] = {}
    pairs = zip_longest(old.rounds, new.rounds)
    for (was, is_), (held, holds) in zip(pairs, zip_longest(restored(old.rounds), restored(new.rounds)), strict=True):
        if was is None or is_ is None:
            yield ResultChange(*key, "round", "round", (was or is_)["round"], was is not None, is_ is not None)
            continue
        tasks = _moved(held or {}, holds or {}) if held is not None and holds is not None else {}
        names = [name for name in OF_ROUND if was.get(name) != is_[name]]
        if not tasks and was["digest"] != is_["digest"]:
            names.append("digest")
        yield from (ResultChange(*key, "round", name, is_["round"], was.get(name), is_[name]) for name in names)
        for task, (before, after) in tasks.items():
            if going_on.get(task) != (before, after):
                yield ResultChange(*key, "task", task, is_["round"], before, after)
        going_on = tasks


def _moved(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {
        task: (list(before.get(task, ())), list(after.get(task, ())))
        for task in dict.fromkeys((*before, *after))
        if list(before.get(task, ())) != list(after.get(task, ()))
    }


def _place(held: Sequence[str | None]) -> str:
    """`on pod-6, standby on pod-1`."""
    if not held:
        return "nowhere"
    runs, *others = held
    said = "run by nobody" if runs is None else f"on {printable(runs)}"
    return said + (f", standby on {', '.join(printable(str(each)) for each in others)}" if others else "")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    return "null" if value is None else f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
