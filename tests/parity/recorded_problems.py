"""Random problems with the answers that a real Kafka recorded."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from scenarios.problems import Problem, read_problems

DATA = Path(__file__).parent / "data"


@cache
def vectors(name: str) -> tuple[Problem, ...]:
    """Return the problems of a file in `data/`."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as source:
        return tuple(read_problems(source, name))
