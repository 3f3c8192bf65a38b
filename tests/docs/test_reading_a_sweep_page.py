"""docs/explanation/reading-a-sweep.md states the numbers with which intervals are computed."""

from __future__ import annotations

from pathlib import Path

from reports.analysis.statistics import CONFIDENCE, RESAMPLES, interval_widening

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reading-a-sweep.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


def test_numbers_of_intervals_are_current() -> None:
    assert f"A {100 * CONFIDENCE:.0f} % interval contains the mean over infinitely many seeds" in TEXT
    assert f"It is a bootstrap percentile interval: {RESAMPLES:,} resamples" in TEXT
    five, ten = interval_widening(5), interval_widening(10)
    assert f"This factor is correct for normal values: {five:.1f} for 5 seeds, {ten:.1f} for 10." in TEXT
