"""The computed execution of large sweeps, and the section about their costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.sweep.batches import plan_batches
from tools.sweep_costs import page
from tools.sweep_costs.measuring import RunCosts
from tools.sweep_costs.page import BEGIN, END, overheads, with_costs
from tools.sweep_costs.schedule import Overheads, execute

SKEWED_S = np.concatenate((np.full(9_990, 0.1), np.full(10, 100.0)))


@pytest.mark.parametrize("cores", [2, 16, 100])
def test_costly_setting_does_not_run_alone_at_the_end(cores: int) -> None:
    execution = execute(plan_batches(SKEWED_S * 1_000), SKEWED_S, cores)
    bound = max(SKEWED_S.sum() / cores, SKEWED_S.max())
    assert bound <= execution.elapsed_s <= 1.01 * bound
    assert execution.alone_s < 0.01 * bound


def test_order_of_the_settings_would_leave_cores_idle() -> None:
    batches = sorted(plan_batches(SKEWED_S * 1_000), key=lambda batch: batch.number)
    in_order = [replace(batch, chunks=tuple(sorted(batch.chunks, key=lambda chunk: chunk.start))) for batch in batches]
    assert execute(in_order, SKEWED_S, 16).elapsed_s > 1.2 * SKEWED_S.sum() / 16


def test_overheads_add_to_the_work() -> None:
    run_s = np.full(1_000, 0.05)
    batches = plan_batches(run_s * 1_000)
    assert execute(batches, run_s, 1).elapsed_s == pytest.approx(50.0)
    added = execute(batches, run_s, 1, Overheads(run_s=0.01, batch_s=2.0, written_run_s=0.001))
    assert added.elapsed_s == pytest.approx(50.0 + 10.0 + 2.0 * len(batches) + 1.0)
    assert added.busy == pytest.approx(1.0)


def test_section_is_computed_from_the_measured_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "CORES", (2,))
    figures = [
        ("process", RunCosts(100, 10.0, 11.0)),
        ("overhead", RunCosts(2_000, 20.0, 10.0, 0.1, 150_000_000, 900_000_000, ((2_000, 4.0),))),
        ("overhead", RunCosts(400, 12.0, 8.0, 0.1, 150_000_000, 900_000_000, ((400, 2.4),))),
        ("overhead", RunCosts(20_000, 110.0, 60.0, 0.4, 160_000_000, 950_000_000, ((10_000, 60.0), (10_000, 70.0)))),
        ("large", RunCosts(1, 8.0, 8.0)),
    ]
    costs = overheads(figures)
    assert costs.run_s == pytest.approx(98 / 19_600)
    assert costs.written_run_s == pytest.approx(0.001)
    assert costs.batch_s == pytest.approx(2.0)
    assert costs.driver_s == pytest.approx(20e-6)
    text = with_costs(f"before\n{BEGIN}\nold\n{END}\nafter\n", figures)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| one process | 100 | 100.0 ms | 10.00 |" in text
    assert "| 20,000 runs | 160 MB | 950 MB | 20 µs |" in text
    assert with_costs(text, figures) == text
    # A million runs of 105 ms of core time are 29.2 hours of one core.
    (million,) = (line for line in text.splitlines() if line.startswith("| 1,000,000 small runs"))
    assert million.split(" | ")[1].startswith("14.")
    assert "(100% busy)" in million
