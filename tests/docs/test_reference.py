"""Generated reference pages are current."""

from __future__ import annotations

from tools.reference_pages import pages


def test_generated_pages_are_current() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `python -m tools.reference_pages`"
