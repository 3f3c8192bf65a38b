"""Changed assignment problems, solved by every assignor as `assign --check` does."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
import time
from pathlib import Path
from typing import Any, Final

from assignor_sim.commands.assign import AgreementCounts
from assignors import registry
from assignors.errors import AssignorError
from assignors.java.hash_order import CollectionOrder
from scenarios.problems import ProblemError, read_problems, solve_problem
from tests.hostile.mutations import changed_json

FILE: Final = "problems.jsonl"
TIME_LIMIT_S: Final = 20.0
_VECTORS: Final = Path(__file__).parents[1] / "parity" / "data" / "public.jsonl.gz"


@functools.cache
def recorded() -> tuple[dict[str, Any], ...]:
    """Return small recorded problems with their expected assignments."""
    with gzip.open(_VECTORS, "rt", encoding="utf-8") as source:
        pairs = [json.loads(line) for line in source]
    return tuple(pair for pair in pairs if len(pair["problem"]["tasks"]) < 15 and len(pair["problem"]["clients"]) < 6)


def problem_failure(rng: random.Random) -> str | None:
    """Change a recorded problem and solve it; return what is wrong, or None."""
    pair = rng.choice(recorded())
    if rng.random() < 0.5:
        name = rng.choice([info.name for info in registry.built_in()])
        pair = {**pair, "problem": {**pair["problem"], "assignor": name}}
    text = changed_json(rng, json.dumps(pair)).replace("\n", " ")
    counts = AgreementCounts(CollectionOrder.PRODUCTION)
    started = time.perf_counter()
    try:
        for problem in read_problems(io.StringIO(text), FILE):
            solution = solve_problem(problem, FILE)
            json.dumps(solution).encode()
            counts.count(problem, solution)
        counts.print(io.StringIO())
    except ProblemError as error:
        if not str(error).startswith(f"{FILE}:1: "):
            return f"not located: {error}"
    except AssignorError as error:
        return f"not located: {error!r}"
    seconds = time.perf_counter() - started
    return f"{seconds:.0f} s: {text[:2000]}" if seconds > TIME_LIMIT_S else None
