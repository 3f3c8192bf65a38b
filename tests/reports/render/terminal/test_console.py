"""Lines for terminals."""

from __future__ import annotations

from rich.text import Text

from reports.render.terminal.console import lines


def test_text_that_must_not_be_broken_stays_on_its_line() -> None:
    option = f"  --set {'a' * 60}={'b' * 60}"
    text = lines([Text("word " * 10), Text(option, no_wrap=True, overflow="ignore"), Text("word " * 10)], 30)
    assert option in text.splitlines()
    assert max(len(line) for line in text.splitlines() if line != option) <= 30
