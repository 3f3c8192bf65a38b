"""What the reference says is what the code does."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_reference_of_the_result_tables_is_fresh() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "table_reference.py"))["markdown"]()
    written = (ROOT / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    assert written == made, "run `python tools/table_reference.py`"
