"""Writes docs/reference/tables.md from the schemas of the result tables: `python tools/table_reference.py`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from simulator.tables import SCHEMAS

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "tables.md"

HEAD = """# Result tables

`assignor-sim run … --out DIR` writes each of these tables as `DIR/NAME.parquet`, next to `DIR/manifest.json`, which says
how they came about (scenario text and its hash, assignors with their settings, seeds, versions, command). pandas,
DuckDB and Spark read them as they are. The same scenario, assignors and seeds give the same bytes.

Columns may be added in later versions; a column's name and meaning stay. Times are in milliseconds since the start of
the run, data in bytes.

<!-- Made by `python tools/table_reference.py` from the schemas in simulator/tables.py. -->
"""


def markdown() -> str:
    """The whole page."""
    return HEAD + "".join(_section(name, schema) for name, schema in SCHEMAS.items())


def _section(name: str, schema: pa.Schema) -> str:
    rows = [f"| `{field.name}` | {field.type} | {field.metadata[b'meaning'].decode()} |" for field in schema]
    about = schema.metadata[b"about"].decode()
    return "\n".join([f"\n## {name}\n", about, "", "| column | type | meaning |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
