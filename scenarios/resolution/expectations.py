"""Resolve what a scenario says about results: its expectations, and the known problem that it reproduces."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.outcome_entries import AGAINST, ExpectEntry, FixEntry, ProblemEntry, parse_condition
from scenarios.language.overrides import apply_overrides
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.language.yaml_reader import YamlReadError, read_yaml_value
from scenarios.schema import ScenarioDocument
from simulator.results.run_metrics import RUN_METRICS, Condition, Expectation, MetricUnit, metric_hint


def resolve_expectations(
    document: ScenarioDocument, labels: Sequence[str], source_map: SourceMap
) -> tuple[Expectation, ...]:
    """Return the expectations: those of the scenario, then those of each assignor.

    The conditions of an assignor replace those of the scenario for the same metric. `labels`: those of its assignors,
    without those that have mistakes.
    """
    is_complete = len(labels) == len(document.assignors)  # Otherwise a missing label is a consequence.
    known = labels if is_complete else None
    first = next(iter(labels), "")
    against = _against(document.expect, ("expect",), known, source_map) or first
    entries = [
        (number, labels[number] if is_complete else "", entry.expect)
        for number, entry in valid_entries(document.assignors)
        if entry.expect is not None
    ]
    has_price = document.price is not None or not source_map.is_valid("price")
    expectations = []
    for path, metric, condition in _conditions(document.expect, ("expect",), has_price, source_map):
        except_for = tuple(label for _, label, entry in entries if metric in entry.conditions)
        expectations.append(Expectation(metric, condition, None, except_for, against, source_map.place(path)))
    for number, label, entry in entries:
        path_of_entry: ScenarioPath = ("assignors", number, "expect")
        own_against = _against(entry, path_of_entry, known, source_map) or against
        for path, metric, condition in _conditions(entry, path_of_entry, has_price, source_map):
            if condition.is_relative and own_against == label:
                source_map.add_mistake(
                    path, f"{format_value(condition.text)} compares {label} with itself (set {AGAINST} to another)"
                )
            expectations.append(Expectation(metric, condition, label, (), own_against, source_map.place(path)))
    return tuple(expectations)


def check_metric(metric: str, path: ScenarioPath, source_map: SourceMap) -> bool:
    """Return whether a key is that of a metric; report it otherwise."""
    if metric in RUN_METRICS:
        return True
    source_map.add_mistake(path, f"unknown metric ({metric_hint(metric)})")
    return False


def _conditions(
    entry: ExpectEntry | None, path: ScenarioPath, has_price: bool, source_map: SourceMap
) -> Iterator[tuple[ScenarioPath, str, Condition]]:
    for metric, texts in (entry.conditions if entry is not None else {}).items():
        metric_path: ScenarioPath = (*path, metric)
        if not check_metric(metric, metric_path, source_map):
            continue
        if RUN_METRICS[metric].unit is MetricUnit.USD and not has_price:
            source_map.add_mistake(metric_path, "unknown without a price (as in price: aws)")
            continue
        for text in texts:
            try:
                yield metric_path, metric, parse_condition(text, RUN_METRICS[metric].unit)
            except ValueError as error:
                source_map.add_mistake(metric_path, str(error))


def _against(
    entry: ExpectEntry | None, path: ScenarioPath, labels: Sequence[str] | None, source_map: SourceMap
) -> str | None:
    if entry is None or entry.against is None:
        return None
    if labels is not None:
        _check_label(entry.against, labels, (*path, AGAINST), source_map)
    return entry.against


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that fixes or mitigates a known problem.

    `change`: in words. `overrides`: the same change as paths and values, as in `--set`; empty if it is not an override.
    `assignor`: label of the assignor that has the change; None if it is an override, or only words.
    """

    change: str
    overrides: tuple[tuple[str, str], ...]
    assignor: str | None


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A known problem that a scenario reproduces.

    `symptom`: what is observed in production. `tickets`: Kafka issues and KIPs. `shown_by`: label of the assignor that
    has the problem. `metrics`: keys of the metrics that show it; the fixes lower them. `fixes`: the recommended one
    first. `note`: side effects and limits of the fixes; may be empty.
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
    """Return the known problem; None if the scenario has none.

    `root`: the data of the scenario, in which the paths of the fixes must exist; `labels`: those of its assignors.
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
