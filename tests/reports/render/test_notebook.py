"""Comparisons and figures in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from reports.analysis.comparison import TableError
from reports.render.figures.run_figures import RUN_FIGURES, scaling
from reports.render.notebook import Plots, comparison_html, data_frame
from tests.reports.sample_runs import HOSTILE, four_assignors, tables


class Tags(HTMLParser):
    """Collect the tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_comparison_has_one_row_per_assignor_and_marks_best() -> None:
    text = comparison_html(four_assignors(), ["look out"])
    page = Tags(text)
    assert page.tags.count("tr") == 5
    assert "<p>⚠ <bdi>look out</bdi></p>" in text
    assert "<b><bdi>30.1 MB/s</bdi>" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    page = Tags(comparison_html(tables([{"scenario": name, "assignor": name, "cause": name}]), [name]))
    assert set(page.tags) <= {"p", "bdi", "table", "caption", "thead", "tbody", "tr", "th", "td", "b"}
    assert not {"\u202e", "\x1b"} & set(page.text)


def test_no_runs_have_a_message() -> None:
    assert comparison_html(tables([])) == "<p>No runs.</p>"


def test_data_frame_has_comparison_or_table() -> None:
    comparison = data_frame(four_assignors())
    assert list(comparison["assignor"]) == ["HA none", "HA min_traffic", "HA balance_subtopology", "sticky"]
    assert comparison["active_moves"].tolist() == [18, 26, 24, 12]
    assert set(data_frame(four_assignors(), "rounds")["assignor"]) == set(comparison["assignor"])
    with pytest.raises(TableError, match="'speed' is missing"):
        data_frame(four_assignors(), "speed")


def test_every_figure_is_a_method_with_a_png() -> None:
    plots = Plots(four_assignors())
    assert dir(plots) == sorted(draw.__name__ for draw in (*RUN_FIGURES, scaling))
    figure = plots.convergence()
    assert figure.axes
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"unknown figure 'speed' \(figures: .*convergence"):
        _ = plots.speed
