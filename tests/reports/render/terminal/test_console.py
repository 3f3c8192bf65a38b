"""Lines for terminals."""

from __future__ import annotations

from typing import Literal
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from reports.render.terminal import console
from reports.render.terminal.console import breakable, keep_figures, lines


def test_text_that_must_not_be_broken_stays_on_its_line() -> None:
    option = f"  --set {'a' * 60}={'b' * 60}"
    text = lines([Text("word " * 10), Text(option, no_wrap=True, overflow="ignore"), Text("word " * 10)], 30)
    assert option in text.splitlines()
    assert max(len(line) for line in text.splitlines() if line != option) <= 30


@pytest.mark.parametrize("width", range(20, 60))
def test_figure_stays_with_its_unit(width: int) -> None:
    text = (
        "up to 48.8 s of downtime, 7.5 MB/s across racks, 20.2 kB restored in 48.2 s with 5 standbys (54 %, 81.3 min)"
    )
    drawn = lines([Text(keep_figures(text))], width)
    assert " ".join(drawn.split()) == text
    for figure in ("48.8 s", "7.5 MB/s", "20.2 kB", "48.2 s", "54 %", "81.3 min"):
        assert any(figure in line for line in drawn.splitlines()), figure


@given(
    st.lists(st.text("ab -_.,→中é\u0301\t\n5s", max_size=50), min_size=1, max_size=5),
    st.sampled_from(["left", "right", "center", None]),
    st.sampled_from(["fold", "ignore", None]),
)
def test_texts_that_fit_are_printed_as_rich_lays_them_out(
    texts: list[str], justify: Literal["left", "right", "center"] | None, overflow: Literal["fold", "ignore"] | None
) -> None:
    parts = [Text(keep_figures(breakable(text)), justify=justify, overflow=overflow) for text in texts]
    printed = lines(parts, 20, color=False)
    with patch.object(console, "_fits", lambda *_: False):
        assert printed == lines(parts, 20, color=False)
