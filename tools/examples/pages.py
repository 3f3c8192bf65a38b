"""The pages with examples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools.examples.page import PagePart, parts

ROOT = Path(__file__).parents[2]


def all_pages() -> list[Path]:
    """Return the README and the pages of docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def executed_pages() -> list[Path]:
    """Return the pages with commands that are run."""
    return [page for page in all_pages() if any(map(_runs, parts(page.read_text(encoding="utf-8"))))]


def not_run_list(pages: Iterable[Path]) -> str:
    """Return the blocks of pages that are not run: each reason, and below it the blocks as `page:line`."""
    by_reason: dict[str, list[str]] = {}
    for page in map(Path.resolve, pages):
        for part in parts(page.read_text(encoding="utf-8")):
            if part.kind == "not run":
                by_reason.setdefault(part.argument, []).append(f"{page.relative_to(ROOT).as_posix()}:{part.line}")
    return "".join(
        f"{reason} ({len(found)})\n" + "".join(f"  {place}\n" for place in found)
        for reason, found in sorted(by_reason.items())
    )


def _runs(part: PagePart) -> bool:
    return part.kind == "figures" or (part.kind == "block" and part.language == "sh")
