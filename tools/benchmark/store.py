"""The files of the benchmark in docs/benchmark/v1, and what makes them."""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assignors.flow import flow_cache
from scenarios.problems import parse_problem
from tools.benchmark.entries import ENTRIES
from tools.benchmark.evaluation import FIELDS, evaluate
from tools.benchmark.instances import compress, digest, json_line, read_lines
from tools.benchmark.optima import Optimum, find_optimum

FOLDER = Path(__file__).parents[2] / "docs" / "benchmark" / "v1"
INSTANCES, ANSWERS = "instances.jsonl.gz", "answers.jsonl.gz"
MANIFEST, SOLUTIONS, RUNS, VERSIONS = "instances.csv", "solutions.csv", "runs.csv", "versions.json"
MANIFEST_FIELDS = (
    *("id", "sha256", "stored", "tasks", "stateful", "clients", "threads", "racks", "standbys"),
    *("best", "bound", "status", "slack", "proof"),
)

Row = Mapping[str, str]
Problem = Mapping[str, Any]


def manifest_row(problem: Problem, optimum: Optimum | None, *, stored: bool) -> Row:
    """Return the row of an instance: its digest, its size and its optimum."""
    clients, tasks = problem["clients"], problem["tasks"]
    known = asdict(optimum) if optimum else {"status": "unknown racks"}
    return {
        **dict.fromkeys(MANIFEST_FIELDS, ""),
        "id": problem["id"],
        "sha256": digest(json_line(problem)),
        "stored": str(int(stored)),
        "tasks": str(len(tasks)),
        "stateful": str(sum(task["stateful"] for task in tasks)),
        "clients": str(len(clients)),
        "threads": str(sum(client["threads"] for client in clients)),
        "racks": str(len({client["rack"] for client in clients} - {None})),
        "standbys": str(problem["configs"]["num_standby_replicas"]),
        **{key: str(value) for key, value in known.items()},
    }


def optima_of(problems: Iterable[Problem]) -> dict[str, Optimum | None]:
    """Return the optimum of each instance."""
    return {problem["id"]: find_optimum(parse_problem(problem)) for problem in problems}


def solutions(
    problems: Sequence[Problem],
    optima: Mapping[str, Optimum | None],
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Return the final assignment of each entry for each instance."""
    rows = []
    for entry in ENTRIES:
        on_progress(entry.name)
        with flow_cache():
            rows += [evaluate(problem, entry, optima[problem["id"]]) for problem in problems]
    return rows


def table_text(rows: Iterable[Row], fields: Sequence[str]) -> str:
    """Return rows as CSV with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def solutions_text(rows: Iterable[Row]) -> str:
    """Return `solutions.csv`."""
    return table_text(rows, FIELDS)


def read_table(name: str) -> list[Row]:
    """Return the rows of a CSV file of the benchmark."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def read_instances() -> list[dict[str, Any]]:
    """Return the stored instances."""
    return [line["problem"] for line in read_lines(FOLDER / INSTANCES)]


def write_lines(name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a .jsonl.gz file, unless it has the same lines already: other releases of zlib compress differently."""
    content = [dict(line) for line in lines]
    path = FOLDER / name
    if not path.is_file() or read_lines(path) != content:
        path.write_bytes(compress(b"".join(map(json_line, content))))


def write_versions() -> None:
    """Write the versions of what computed the results."""
    names = ("assignor-sim", "numpy", "ortools", "scipy")
    found = {"python": ".".join(platform.python_version_tuple()[:2])} | {name: version(name) for name in names}
    (FOLDER / VERSIONS).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
