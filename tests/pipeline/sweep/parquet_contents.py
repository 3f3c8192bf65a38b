"""Content of a folder of tables, independent of file names."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq


def contents(folder: Path) -> dict[str, list[tuple[str, str, int]]]:
    """Return a digest of the Parquet files in each subfolder, in the order of their parts.

    It consists of a hash of all column bytes, the schema, and the number of rows. The rest of the footer is left out,
    because Parquet for Java lists the encodings of a column in an order that differs between processes.
    """
    contents_by_folder: dict[str, list[tuple[str, str, int]]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        content = file.read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8
        columns = hashlib.sha256(content[:-footer]).hexdigest()
        metadata = pq.read_metadata(file)
        digest = (columns, str(metadata.schema.to_arrow_schema()), metadata.num_rows)
        contents_by_folder.setdefault(str(file.parent.relative_to(folder)), []).append(digest)
    return contents_by_folder
