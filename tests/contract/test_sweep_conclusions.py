"""Every claim of the conclusion of a sweep is true of all its combinations, with random means, ties and gaps."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from pipeline.aggregate.aggregation import CELL_STATISTICS
from pipeline.aggregate.stored_sweeps import StoredSweep
from pipeline.aggregate.summary import build_summary, scenario_front
from reports.analysis.metrics import METRIC, least_relevant
from reports.analysis.sweeps.conclusion import conclude_sweeps
from reports.render.report_formats import report_text
from reports.render.sweep import sweep_report

pytestmark = pytest.mark.answers

Json = dict[str, Any]

SEEDS = 60
LEVELS = {
    "cross_rack_usd_per_day": (3.0, 8.5, 8.5004, 20.0, None),
    "cross_rack_bytes": (1e9, 2e9, 3e9),
    "active_moves": (0, 1, 2, 40, 500),
    "downtime_ms": (0, 900, 50_000, 3_000_000),  # The first two differ by less than a second.
    "time_to_converge_ms": (1_000, 90_000, 5_000_000, None),
}
NOUNS = {
    name: METRIC[name].title.partition(" (")[0][0].lower() + METRIC[name].title.partition(" (")[0][1:]
    for name in LEVELS
}


def random_summary(seed: int) -> tuple[Json, list[Json]]:
    """Return the summary of a random sweep or two, and the means of all considered combinations."""
    generator = random.Random(seed)
    num_levels = generator.choice((1, 2, 5))  # Few levels: combinations with equal means.
    is_continuous = generator.random() < 0.3
    names = ["weights", "counts"][: generator.choice((1, 1, 2))]
    assignors = ["steady", "rival", "third"][: generator.choice((1, 2, 3))]
    has_factors = generator.random() < 0.8
    rows, considered = [], []
    settings = range(generator.choice((1, 3, 6)) if has_factors else 1)
    for sweep, setting, assignor in itertools.product(names, settings, assignors):
        means: dict[str, float | None] = {
            name: generator.uniform(1, 4) * 1e6 if is_continuous else generator.choice(levels[-num_levels:])
            for name, levels in LEVELS.items()
        }
        failed = int(generator.random() < 0.15)
        key = {"scenario": "orders", "sweep": sweep, "setting": setting, "assignor": assignor}
        key |= {"label": f"rate={setting}" if has_factors else ""}
        if not failed:
            considered.append(key | {"means": means})
        for name, mean in means.items():
            is_stable = float(means["time_to_converge_ms"] is not None)
            counts = {"runs": 2, "errors": 0, "failed": failed, "stable": is_stable}
            known = {"known": 0} if mean is None else {"known": 2, "mean": float(mean)}
            rows.append(key | {"metric": name} | counts | known)
    return summary_of(names, assignors, rows), considered


def summary_of(sweeps: Sequence[str], assignors: Sequence[str], rows: Sequence[Json]) -> Json:
    """Return the summary of sweeps with these statistics of their combinations."""
    columns = {field.name: [row.get(field.name) for row in rows] for field in CELL_STATISTICS}
    fronts = scenario_front(pa.table(columns, schema=pa.schema(CELL_STATISTICS))).to_pylist()
    stored = [StoredSweep(name, "orders", "", (), tuple(assignors), 2, "steady", len(rows)) for name in sweeps]
    return build_summary(stored, [json.loads(row["facts"]) for row in fronts if row["facts"]], [])


def find_cell(text: str, cells: list[Json], several: bool) -> Json:
    """Return the combination that a sentence names."""
    named = [
        cell
        for cell in cells
        if re.search(rf"\b{cell['assignor']}\b", text)
        and (not cell["label"] or f" {cell['label']}" in text)
        and (not several or f"({cell['sweep']})" in text)
    ]
    assert len(named) == 1, (text, named)
    return named[0]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_claims_are_true_of_all_combinations(seed: int) -> None:
    summary, cells = random_summary(seed)
    [scenario], [conclusion] = summary["scenarios"], conclude_sweeps(summary)
    objectives, several = scenario["objectives"], len(summary["sweeps"]) > 1
    assert (
        report_text(sweep_report(summary, width=80), 80, color=False)
        .rstrip()
        .endswith(conclusion.findings[-1].split()[-1])
    )
    if not cells:
        assert [finding.partition(":")[0] for finding in conclusion.findings] == ["No combination to recommend"]
        return
    known = {name: min(cell["means"][name] for cell in cells if cell["means"][name] is not None) for name in objectives}
    lowest = {name: METRIC[name].write(mean) for name, mean in known.items()}

    def is_worse(name: str, value: float | None, other: float) -> bool:
        """Return whether a mean is unknown, or above another one by a relevant difference."""
        return value is None or value - other >= max(least_relevant(name), other / 100)

    mentioned, start = set(), None
    for finding in conclusion.findings[:-1]:
        if finding.startswith("With this combination"):
            assert start is not None
            assert start["means"]["time_to_converge_ms"] is None
            continue
        claim, _, price = re.sub(r"\. In exchange: ", "; in exchange, ", finding).partition("; in exchange, ")
        head, _, figures = claim.partition(": ")
        is_start = head.startswith("Start")
        cell = find_cell(head if is_start else figures, cells, several)
        start = cell if is_start else start
        for name, noun in NOUNS.items():
            if name not in objectives:
                assert noun not in finding
                continue
            value = cell["means"][name]
            own = "unknown for some runs" if value is None else METRIC[name].write(value)
            if f"{noun} ({lowest[name]})" in claim:
                assert own == lowest[name], (finding, name)
                assert f"{noun} " not in price, (finding, name)
                mentioned.add(name)
            elif "lowest in everything" in claim:
                assert f"{noun} {lowest[name]}" in claim
                assert own == lowest[name]
                mentioned.add(name)
            elif is_start and f"{noun} ({own})" in claim.partition("no relevant difference from the lowest ")[2]:
                assert own != lowest[name]
                assert not is_worse(name, value, known[name])
                assert f"{noun} " not in price, (finding, name)
                mentioned.add(name)
            elif is_start:
                assert f"{noun} {own} (lowest: {lowest[name]})" in finding
                assert is_worse(name, value, known[name])
            elif f"{noun} " in price:
                assert f"{noun} {own}" in price
                assert start is not None
                assert is_worse(name, value, start["means"][name])
            elif start is not None:
                assert not is_worse(name, value, start["means"][name])
        if equal := re.search(r"\((\d+) other combinations? with equal means", head):
            same = [other for other in cells if all(other["means"][n] == cell["means"][n] for n in objectives)]
            assert len(same) - 1 == int(equal[1]), finding
    assert mentioned == set(objectives), conclusion.findings


def test_differences_that_are_not_relevant_are_no_price() -> None:
    """Less than $0.01 per day, less than one task: nothing that a combination costs, or is chosen for."""
    means = {
        "rival": {"cross_rack_usd_per_day": 0.0828, "active_moves": 4.2, "downtime_ms": 98_700.0},
        "steady": {"cross_rack_usd_per_day": 0.0864, "active_moves": 4.0, "downtime_ms": 94_700.0},
    }
    key = {"scenario": "orders", "sweep": "weights", "setting": 0, "label": ""}
    counts = {"runs": 2, "errors": 0, "failed": 0, "stable": 1.0, "known": 2}
    rows = [
        key | counts | {"assignor": assignor, "metric": name, "mean": mean}
        for assignor, of_assignor in means.items()
        for name, mean in of_assignor.items()
    ]
    [conclusion] = conclude_sweeps(summary_of(["weights"], ["steady", "rival"], rows))
    assert conclusion.findings[0] == (
        "Start with steady (the baseline): lowest active task moves (4) and task downtime (94.7 s); no relevant "
        "difference from the lowest cross-rack cost per day ($0.0864)."
    )
    assert not any("rival" in finding for finding in conclusion.findings)


def test_all_kinds_of_conclusions_are_drawn() -> None:
    conclusions = [conclude_sweeps(random_summary(seed)[0])[0] for seed in range(SEEDS)]
    texts = "\n".join(finding for conclusion in conclusions for finding in conclusion.findings)
    parts = (
        "lowest in everything",
        "lowest in nothing",
        "In exchange",
        "in exchange, ",
        "(weights)",
        "with equal means",
        "no relevant difference from the lowest",
    )
    for part in (*parts, "unknown for some runs", "With this combination, 0 %", "No combination to recommend"):
        assert part in texts, part
