"""The README shows current output, figures and a current picture, and fits into 80 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from assignor_sim.api.results import RunResult
from reports.analysis.formatting import format_rate
from tools.readme import (
    DEFAULT,
    PICTURE,
    RACK_AWARE,
    alternative_text,
    demo,
    joined,
    peak_rates,
    picture_digest,
    refreshed,
    steady_rates,
)

pytestmark = pytest.mark.answers

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
HINT = "run `python -m tools.readme`"


@pytest.fixture(scope="module")
def result() -> RunResult:
    return demo()


def test_readme_shows_current_output(result: RunResult) -> None:
    assert refreshed(README, result) == README, HINT


def test_picture_shows_the_current_run(result: RunResult) -> None:
    with Image.open(PICTURE) as picture:
        assert picture.info["Source"] == picture_digest(result), HINT


def test_alternative_text_has_the_figures_of_the_run(result: RunResult) -> None:
    text = alternative_text(result)
    at_ms, joining = joined(result)
    assert (at_ms, joining) == (30 * 60_000, 3)
    assert f"{joining} clients join after 30 min" in text
    for rates in (peak_rates(result, at_ms), steady_rates(result)):
        for rate in rates.values():
            assert format_rate(rate) in text
    figures = re.findall(r"\d[\d.,]* ?(?:[kMG]?B/s|min)?", text)
    assert len(figures) == 6, f"each figure of {text!r} must be one of those above"


def test_conclusion_holds(result: RunResult) -> None:
    rates = steady_rates(result)
    assert rates[RACK_AWARE] < rates[DEFAULT]
    partitions = {row["assignor"]: row["cross_rack_source_partitions"] for row in result.tables["runs"].to_pylist()}
    assert partitions[RACK_AWARE] == 0 < partitions[DEFAULT]


def test_tables_fit_into_80_columns() -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert blocks
    assert [line for block in blocks for line in block.splitlines() if len(line) > 80] == []
    assert not re.search(r"^\|", README, re.MULTILINE)
