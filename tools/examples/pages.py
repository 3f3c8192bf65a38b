"""The pages with examples."""

from __future__ import annotations

from pathlib import Path

from tools.examples.page import PagePart, parts

ROOT = Path(__file__).parents[2]


def all_pages() -> list[Path]:
    """Return the README and the pages of docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def executed_pages() -> list[Path]:
    """Return the pages with commands that are run."""
    return [page for page in all_pages() if any(map(_runs, parts(page.read_text(encoding="utf-8"))))]


def _runs(part: PagePart) -> bool:
    return part.kind == "figures" or (part.kind == "block" and part.language == "sh")
