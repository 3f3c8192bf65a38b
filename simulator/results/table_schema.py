"""Arrow schemas with the meanings of tables and columns as metadata."""

from __future__ import annotations

import pyarrow as pa


def table_schema(about: str, *fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    """Return the schema of a table.

    `about`: the meaning of a row of the table, stored as metadata. `fields`: name, type and meaning of each column; the
    meaning is stored as metadata.
    """
    return pa.schema(
        [pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in fields],
        metadata={"about": about},
    )


RUN_KEY = (
    ("scenario", pa.string(), "name of the scenario"),
    ("assignor", pa.string(), "label of the assignor, from the scenario or the command line"),
    ("seed", pa.int64(), "seed of the run"),
)
"""The first columns of every table of a run."""
