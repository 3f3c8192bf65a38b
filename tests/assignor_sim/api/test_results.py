"""What `sim.compare` returns, as a notebook or a prompt has it."""

from __future__ import annotations

import pytest

import assignor_sim as sim
from scenarios.load import loads
from tests.assignor_sim.conftest import SMALL


@pytest.fixture(scope="module")
def comparison() -> sim.Comparison:
    return sim.compare(loads(SMALL))


def test_it_shows_itself_as_a_table_with_its_warnings(comparison: sim.Comparison) -> None:
    text = comparison._repr_html_()
    assert text.count("<tr>") == 3
    assert "<bdi>high_availability</bdi>" in text
    odd = sim.compare(loads(SMALL), ["streams_group_sticky"])
    assert odd.warnings
    assert odd._repr_html_().startswith("<p>⚠ ")


def test_at_a_prompt_it_is_a_line_and_printed_the_table(
    comparison: sim.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert repr(comparison) == "<Comparison of high_availability, sticky in small>"
    assert "x-rack" in str(comparison)
    assert "high_availability" in str(comparison)


def test_it_is_a_data_frame_of_the_comparison_or_of_a_table(comparison: sim.Comparison) -> None:
    assert comparison.to_pandas()["assignor"].tolist() == ["high_availability", "sticky"]
    rounds = comparison.to_pandas("rounds")
    assert len(rounds) == comparison.tables["rounds"].num_rows


def test_it_draws_its_figures(comparison: sim.Comparison) -> None:
    figure = comparison.plot.convergence()
    assert figure.axes
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert "cross_rack_traffic" in dir(comparison.plot)
