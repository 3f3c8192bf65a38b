"""The rates and faults of an ingest by DuckDB's window functions, without tables and quarantine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb

QUERY = Path(__file__).with_suffix(".sql")


def rates_by_duckdb(readings: str) -> list[tuple[Any, ...]]:
    """Return the rows of the query for a folder of readings, computed with two threads."""
    query = QUERY.read_text(encoding="utf-8").replace("READINGS", f"{readings}/*.parquet")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        for setting in ("threads = 2", "memory_limit = '8GB'", f"temp_directory = '{folder}'"):
            database.execute(f"SET {setting}")
        return database.execute(query).fetchall()
