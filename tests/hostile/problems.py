"""Changed assignment problems, solved by every assignor as `assign --check` does."""

from __future__ import annotations

import copy
import functools
import gzip
import io
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from assignor_sim.commands.assign import AgreementCounts
from assignor_sim.console.options import OutputFormat
from assignors import registry
from assignors.containment.guarded_call import time_limit
from assignors.errors import AssignorError
from assignors.java.hash_order import CollectionOrder
from scenarios.problems import ProblemError, read_problems, solve_problem
from tests.hostile.mutations import changed_json

FILE: Final = "problems.jsonl"
TIME_LIMIT_S: Final = 20.0
_END_S: Final = 120.0
"""Time after which a test of huge numbers stops."""

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
    seconds, failure = _solve(text)
    if failure is None and seconds > TIME_LIMIT_S:
        seconds, failure = _solve(text)  # The first time includes the compilation by Numba.
    return f"{seconds:.0f} s: {text[:2000]}" if failure is None and seconds > TIME_LIMIT_S else failure


def huge_problems(assignor: str, values: Sequence[int]) -> Iterator[str]:
    """Yield the recorded problem with most kinds of numbers, with each kind replaced by each of the values."""
    problem = {**max((pair["problem"] for pair in recorded()), key=_kinds_count), "assignor": assignor}
    for path in _numbers_by_kind(problem).values():
        for value in values:
            changed = copy.deepcopy(problem)
            place: Any = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            yield json.dumps({"problem": changed})


def cpu_seconds(text: str) -> float:
    """Return the processor time of solving a problem, without the compilation by Numba; it may be refused."""
    with time_limit(_END_S):
        _solve(text)
        started = time.process_time()
        _solve(text)
    return time.process_time() - started


def _kinds_count(problem: dict[str, Any]) -> int:
    return len(_numbers_by_kind(problem))


def _numbers_by_kind(problem: dict[str, Any]) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Return the path of one number of each kind; numbers of different clients and tasks are of the same kind."""
    paths = _number_paths(problem)
    return {tuple(key for key in path if isinstance(key, str) and not key[:1].isdigit()): path for path in paths}


def _number_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _number_paths(item, (*path, key))


def _solve(text: str) -> tuple[float, str | None]:
    """Solve problems as `assign --check` does; return the seconds, and what is wrong."""
    counts = AgreementCounts(CollectionOrder.PRODUCTION)
    started = time.perf_counter()
    failure = None
    try:
        for problem in read_problems(io.StringIO(text), FILE):
            solution = solve_problem(problem, FILE)
            json.dumps(solution).encode()
            counts.count(problem, solution)
        counts.print(io.StringIO(), OutputFormat.TABLE)
    except ProblemError as error:
        if not str(error).startswith(f"{FILE}:1: "):
            failure = f"not located: {error}"
    except AssignorError as error:
        failure = f"not located: {error!r}"
    return time.perf_counter() - started, failure
