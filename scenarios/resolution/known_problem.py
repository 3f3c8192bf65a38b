"""Resolve the section `problem`: its labels and paths must exist in the scenario."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.overrides import apply_overrides
from scenarios.language.paths import ScenarioPath
from scenarios.language.problem_entry import FixEntry, ProblemEntry
from scenarios.language.validation import SourceMap
from scenarios.language.yaml_reader import YamlReadError, read_yaml_value
from scenarios.resolution.expectations import check_metric


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that fixes or mitigates a known problem.

    Attributes:
        change: the change, in words.
        overrides: the same change as paths and values, as in `--set`; empty if it is not an override.
        assignor: label of the assignor that has the change; None if it is an override, or only words.
    """

    change: str
    overrides: tuple[tuple[str, str], ...]
    assignor: str | None


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A known problem that a scenario reproduces.

    Attributes:
        title: the problem in a few words.
        symptom: what is observed in production.
        cause: why it happens.
        tickets: Kafka issues and KIPs.
        shown_by: label of the assignor that has the problem.
        metrics: keys of the metrics that show the problem; the fixes lower them.
        fixes: changes that fix or mitigate it, the recommended one first.
        note: side effects and limits of the fixes; empty if there are none.
    """

    title: str
    symptom: str
    cause: str
    tickets: tuple[str, ...]
    shown_by: str
    metrics: tuple[str, ...]
    fixes: tuple[Fix, ...]
    note: str


def resolve_problem(
    entry: ProblemEntry | None, root: Mapping[str, Any], labels: Sequence[str], source_map: SourceMap
) -> KnownProblem | None:
    """Resolve the known problem, and report mistakes to `source_map`.

    `entry`: the section of the scenario; `root`: the data of the scenario, in which the paths of the fixes must exist;
    `labels`: labels of the assignors of the scenario. Returns the known problem; None if the scenario has none.
    """
    if entry is None:
        return None
    if entry.shown_by is not None:
        _check_label(entry.shown_by, labels, ("problem", "shown_by"), source_map)
    fixes = []
    for number, fix in valid_entries(entry.fixes):
        path: ScenarioPath = ("problem", "fixes", number)
        overrides = tuple((key, _as_yaml(value)) for key, value in fix.changes.items())
        _check_fix(fix, overrides, root, labels, path, source_map)
        fixes.append(Fix(fix.change, overrides, fix.assignor))
    metrics = tuple(
        metric
        for number, metric in valid_entries(entry.metrics)
        if check_metric(metric, ("problem", "metrics", number), source_map)
    )
    return KnownProblem(
        title=entry.title,
        symptom=entry.symptom,
        cause=entry.cause,
        tickets=tuple(ticket for _, ticket in valid_entries(entry.tickets)),
        shown_by=entry.shown_by or next(iter(labels), ""),
        metrics=metrics,
        fixes=tuple(fixes),
        note=entry.note or "",
    )


def _check_fix(
    fix: FixEntry,
    overrides: Sequence[tuple[str, str]],
    root: Mapping[str, Any],
    labels: Sequence[str],
    path: ScenarioPath,
    source_map: SourceMap,
) -> None:
    if fix.assignor is not None:
        if overrides:
            source_map.add_mistake((*path, "assignor"), "set and assignor exclude each other; remove one")
        _check_label(fix.assignor, labels, (*path, "assignor"), source_map)
    for override in overrides:
        _, mistakes = apply_overrides(copy.deepcopy(root), [override])
        for mistake in mistakes:
            source_map.add_mistake((*path, "set", override[0]), mistake.message)


def _check_label(label: str, labels: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> None:
    if label not in labels:
        hint = did_you_mean(label, labels, "labels")
        source_map.add_mistake(path, f"{format_value(label)} is not the label of an assignor ({hint})")


def _as_yaml(value: Any) -> str:
    """Return a value as YAML on one line; text that needs no quotes has none, as one types it after `--set`.

    Characters that cannot be typed or seen are escaped.
    """
    if isinstance(value, str) and value.isprintable():
        with suppress(YamlReadError):
            if read_yaml_value(value) == value:
                return value
    as_json = json.dumps(value, ensure_ascii=False)
    return as_json if as_json.isprintable() else json.dumps(value)
