"""Resolve the expectations of a scenario: metrics, units, labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scenarios.language.conditions import parse_condition
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.expect_entry import AGAINST, ExpectEntry
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.schema import ScenarioDocument
from simulator.results.run_metrics import RUN_METRICS, Condition, Expectation, MetricUnit, metric_hint


def resolve_expectations(
    document: ScenarioDocument, labels: Sequence[str], source_map: SourceMap
) -> tuple[Expectation, ...]:
    """Resolve the expectations, and report mistakes to `source_map`.

    The conditions of an assignor replace those of the scenario for the same metric. `labels`: labels of its assignors,
    without those that have mistakes. Returns the expectations: those of the scenario, then those of each assignor.
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
    if labels is not None and entry.against not in labels:
        hint = did_you_mean(entry.against, labels, "labels")
        source_map.add_mistake(
            (*path, AGAINST), f"{format_value(entry.against)} is not the label of an assignor ({hint})"
        )
    return entry.against
