"""The reference of the tables is what the code says."""

from __future__ import annotations

from pathlib import Path

from pipeline.ingest.tables import page

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "ingested-tables.md"


def test_the_page_of_the_reference_is_fresh() -> None:
    assert REFERENCE.read_text(encoding="utf-8").endswith(page())
