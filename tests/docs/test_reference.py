"""What the reference says is what the code does."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_made_from_the_code_are_fresh() -> None:
    for path, text in runpy.run_path(str(ROOT / "tools" / "reference_pages.py"))["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `python tools/reference_pages.py`"
