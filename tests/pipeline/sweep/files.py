"""What a folder of tables holds, whatever Spark called the files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq


def contents(folder: Path) -> dict[str, list[tuple[str, str, int]]]:
    """Hashes of the Parquet files in each folder below one, in the order of their parts.

    Of each file: all bytes of its columns, their schema, and the number of rows. The rest of a file's footer is left
    out, since Parquet for Java lists a column's encodings in an order that differs from process to process.
    """
    found: dict[str, list[tuple[str, str, int]]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        whole = file.read_bytes()
        footer = int.from_bytes(whole[-8:-4], "little") + 8
        columns = hashlib.sha256(whole[:-footer]).hexdigest()
        metadata = pq.read_metadata(file)
        told = (columns, str(metadata.schema.to_arrow_schema()), metadata.num_rows)
        found.setdefault(str(file.parent.relative_to(folder)), []).append(told)
    return found
