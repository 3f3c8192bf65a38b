"""What a folder of tables holds, whatever Spark called the files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def contents(folder: Path) -> dict[str, list[str]]:
    """The hashes of the Parquet files in each folder below one, in the order of their parts."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        found.setdefault(str(file.parent.relative_to(folder)), []).append(hashlib.sha256(file.read_bytes()).hexdigest())
    return found
