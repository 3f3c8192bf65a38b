"""Every claim of the conclusion of a sweep is true of all its combinations, with random means, ties and gaps."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import pyarrow as pa
import pytest

from pipeline.aggregate.aggregation import CELL_STATISTICS
from pipeline.aggregate.stored_sweeps import StoredSweep
from pipeline.aggregate.summary import build_summary, scenario_front
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.conclusion import conclude_sweeps
from reports.render.terminal.sweep import draw

pytestmark = pytest.mark.answers

Json = dict[str, Any]

SEEDS = 60
LEVELS = {
    "cross_rack_usd_per_day": (3.0, 8.5, 8.5004, 20.0, None),
    "cross_rack_bytes": (1e9, 2e9, 3e9),
    "active_moves": (0, 1, 2, 40, 500),
    "downtime_ms": (0, 900, 50_000, 3_000_000),
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
    columns = {field.name: [row.get(field.name) for row in rows] for field in CELL_STATISTICS}
    fronts = scenario_front(pa.table(columns, schema=pa.schema(CELL_STATISTICS))).to_pylist()
    sweeps = [StoredSweep(name, "orders", "", (), tuple(assignors), 2, "steady", len(rows)) for name in names]
    return build_summary(sweeps, [json.loads(row["facts"]) for row in fronts if row["facts"]], []), considered


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
    assert draw(summary, 80, color=False).rstrip().endswith(conclusion.findings[-1].split()[-1])
    if not cells:
        assert [finding.partition(":")[0] for finding in conclusion.findings] == ["No combination to recommend"]
        return
    lowest = {
        name: METRIC[name].write(min(cell["means"][name] for cell in cells if cell["means"][name] is not None))
        for name in objectives
    }
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
            elif is_start:
                assert f"{noun} {own} (lowest: {lowest[name]})" in finding
                assert own != lowest[name]
            elif f"{noun} " in price:
                assert f"{noun} {own}" in price
                assert start is not None
                assert value is None or value > start["means"][name]
            elif start is not None:
                assert value is not None
                assert value <= start["means"][name] or own == METRIC[name].write(start["means"][name])
        if equal := re.search(r"\((\d+) other combinations? with equal means", head):
            same = [other for other in cells if all(other["means"][n] == cell["means"][n] for n in objectives)]
            assert len(same) - 1 == int(equal[1]), finding
    assert mentioned == set(objectives), conclusion.findings


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
    )
    for part in (*parts, "unknown for some runs", "With this combination, 0 %", "No combination to recommend"):
        assert part in texts, part
