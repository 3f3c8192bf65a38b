"""Convergence after each event, on pages and in terminals."""

from __future__ import annotations

from reports.analysis.runs.grids import convergence_grid
from reports.render.terminal.rounds import draw
from tests.reports.sample_runs import MINUTE_MS, tables

UNKNOWN = {
    "number": 2,
    "event": "crash of client app-1",
    "at_ms": 30 * MINUTE_MS,
    "rebalances": 1,
    "time_to_converge_ms": None,
    "observed_ms": 45 * MINUTE_MS,
    "verdict": "probing",
}
START = {"number": 0, "event": "start", "at_ms": 0, "rebalances": 1, "time_to_converge_ms": 6_000, "observed_ms": 6_000}


def test_grid_has_one_line_per_event_and_one_column_per_assignor() -> None:
    rows = [{"assignor": "a", **row} for row in (START, {"cut_short_by": 2}, UNKNOWN)]
    grid = convergence_grid(tables([{"assignor": "a"}, {"assignor": "b"}], convergence=[*rows, {"assignor": "b"}]))
    assert grid.columns == ("a", "b")
    assert [(title, [str(cell) for cell in cells]) for title, cells in grid.lines] == [
        ("0: start", ["6 s (1 rebalance)", "–"]),
        ("1: outage of rack az1 at 0:10:00", ["12 min (2 rebalances, cut short by event 2)", "12 min (2 rebalances)"]),
        ("2: crash of client app-1 at 0:30:00", ["> 45 min (1 rebalance, probing)", "–"]),
    ]


def test_terminal_reports_convergence_after_each_event() -> None:
    text = draw(tables(convergence=[{}, UNKNOWN]), width=120, color=False)
    assert "event 1, outage of rack az1, 0:10:00: converged after 12 min (2 rebalances)\n" in text
    assert "event 2, crash of client app-1, 0:30:00: not converged after 45 min (1 rebalance, probing)\n" in text
