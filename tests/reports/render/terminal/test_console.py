"""Lines for terminals."""

from __future__ import annotations

import pytest
from rich.text import Text

from reports.render.terminal.console import keep_figures, lines


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
