"""Files of answered problems, and the folder of summaries of comparisons."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RUNS = Path("out/parity")
"""Folder of the summaries, by release."""


def write_problems(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a compressed problem file whose header has no file name and time; equal problems give equal files."""
    content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
