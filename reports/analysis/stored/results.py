"""Stored results of a scenario: a JSON file that people can review.

It holds every metric of every run and a digest of each round's assignment. Where the assignments change little, it also
holds the first assignment and the changes of later rounds. Floats are stored with nine digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from reports.analysis.comparison import Tables, table_rows
from simulator.results.schema_checks import SchemaError, StoredRecord, check_record, read_json

MAX_CHANGES: Final = 1_000
"""A run whose assignments change more entries than this, including the first round, is stored as digests only."""

ROUND_KEYS: Final = ("round", "at_ms", "reason", "active_moves", "standby_moves", "withheld_tasks")
"""Columns of the table `rounds` that are stored."""

TaskPlacements = Mapping[str, Sequence[str | None]]
"""Clients of each task with copies: that of the active task or None, then those of its standbys, sorted."""


def stored_rounds(rounds: Sequence[Mapping[str, Any]], copies: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is stored of each round.

    `rounds`: rows of the table `rounds` of one run; `copies`: rows of the table `assignments` of the same run.
    """
    copies_by_round: dict[int, list[Mapping[str, Any]]] = {}
    for copy in copies:
        copies_by_round.setdefault(copy["round"], []).append(copy)
    decided = [copies_by_round.get(row["round"], []) for row in rounds]
    changes = _changes([placements(round_copies) for round_copies in decided])
    if sum(map(len, changes)) > MAX_CHANGES:
        changes = [None] * len(rounds)
    for row, round_copies, changed in zip(rounds, decided, changes, strict=True):
        yield {**{key: row[key] for key in ROUND_KEYS}, "digest": _digest(round_copies), "changes": changed}


def placements(copies: Iterable[Mapping[str, Any]]) -> dict[str, list[str | None]]:
    """Return the placement of each task in a round, from the rows of the table `assignments`."""
    actives: dict[str, str] = {}
    standbys: dict[str, list[str]] = {}
    for copy in copies:
        standbys.setdefault(copy["task"], [])
        if copy["role"] == "active":
            actives[copy["task"]] = copy["client"]
        else:
            standbys[copy["task"]].append(copy["client"])
    return {task: [actives.get(task), *sorted(clients)] for task, clients in standbys.items()}


def placements_by_round(rounds: Iterable[Mapping[str, Any]]) -> Iterator[TaskPlacements | None]:
    """Yield the placements of each stored round; None where only digests are stored."""
    current: dict[str, Sequence[str | None]] = {}
    for row in rounds:
        if row["changes"] is None:
            yield None
            continue
        current = {task: clients for task, clients in {**current, **row["changes"]}.items() if clients}
        yield current


def _changes(rounds: Sequence[TaskPlacements]) -> list[Any]:
    """Return all placements of the first round and the changed ones of each later round; empty for a removed task."""
    first: list[dict[str, Any]] = [dict(rounds[0])] if rounds else []
    return first + [
        {task: after.get(task, []) for task in dict.fromkeys((*before, *after)) if before.get(task) != after.get(task)}
        for before, after in pairwise(rounds)
    ]


def _digest(copies: Iterable[Mapping[str, Any]]) -> str:
    lines = sorted(f"{copy['task']} {copy['role']} {copy['client']}" for copy in copies)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


FORMAT: Final = 2

INPUT_COLUMNS: Final = frozenset(("scenario", "assignor", "seed", "broker_release", "client_release", "protocol"))
"""Columns of `runs` that are no results: they follow from the scenario, whose digest is stored, and the label."""

RunKey = tuple[str, int]
"""Label of the assignor, and seed."""


class _Scenario(StoredRecord):
    name: str
    sha256: str
    imports: dict[str, str]


class _Round(StoredRecord):
    round: Annotated[int, Field(ge=0)]
    at_ms: int
    reason: str
    active_moves: int
    standby_moves: int
    withheld_tasks: int
    digest: str
    changes: dict[str, list[str | None]] | None


class _Run(StoredRecord):
    assignor: str
    seed: Annotated[int, Field(ge=0)]
    figures: dict[str, bool | int | Annotated[float, Field(ge=-1e300, le=1e300)] | str | None]
    rounds: list[_Round]


class _StoredFile(StoredRecord):
    format: Literal[2]
    model: int
    versions: dict[str, str]
    scenario: _Scenario
    runs: list[_Run]


class StoredResultsError(Exception):
    """A file does not hold valid stored results."""


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """The inputs that results were computed from.

    Attributes:
        scenario: SHA-256 of the scenario's text.
        imports: SHA-256 of each imported file.
        model: model version.
        versions: versions of the packages that influence the results.
    """

    scenario: str
    imports: Mapping[str, str]
    model: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The stored results of a run.

    Attributes:
        figures: columns of the table `runs` that are results.
        rounds: one record per rebalance, as in `stored_rounds`.
    """

    figures: Mapping[str, Any]
    rounds: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class StoredResults:
    """The stored results of a scenario.

    Attributes:
        name: name of the scenario.
        origin: the inputs that they were computed from.
        runs: runs by assignor and seed.
    """

    name: str
    origin: ResultOrigin
    runs: Mapping[RunKey, StoredRun] = field(default_factory=dict)


def collect_results(tables: Tables, name: str, origin: ResultOrigin) -> StoredResults:
    """Return what is stored of the runs of a scenario.

    `tables`: must hold `runs`, `rounds` and `assignments`; `origin`: the inputs that the tables were computed from.
    """
    rounds, copies = _rows_by_run(tables, "rounds"), _rows_by_run(tables, "assignments")
    runs = {}
    for run in table_rows(tables, "runs"):
        key = _key(run)
        figures = {name: _rounded(value) for name, value in run.items() if name not in INPUT_COLUMNS}
        runs[key] = StoredRun(figures, tuple(stored_rounds(rounds.get(key, []), copies.get(key, []))))
    return StoredResults(name, origin, runs)


def write_stored(results: StoredResults) -> str:
    """Return the text of a stored results file, with one line per metric and one per round; deterministic."""
    origin = results.origin
    head = {"format": FORMAT, "model": origin.model, "versions": dict(sorted(origin.versions.items()))}
    scenario = {"name": results.name, "sha256": origin.scenario, "imports": dict(sorted(origin.imports.items()))}
    runs = ",\n".join(_run_text(key, run) for key, run in results.runs.items())
    return f'{_json(head)[:-1]},\n"scenario": {_json(scenario)},\n"runs": [\n{runs}\n]}}\n'


def read_stored(text: str, name: str) -> StoredResults:
    """Parse a stored results file; raise StoredResultsError if the file does not hold valid stored results."""
    try:
        stored = check_record(_StoredFile, read_json(text))
    except SchemaError as error:
        raise StoredResultsError(
            f"{name}: not stored results of format {FORMAT}: {error}; record them again"
        ) from error
    runs: dict[RunKey, StoredRun] = {}
    for number, run in enumerate(stored.runs):
        key = run.assignor, run.seed
        if key in runs:
            raise StoredResultsError(f"{name}: runs[{number}]: has assignor and seed of an earlier run; record again")
        runs[key] = StoredRun(run.figures, tuple(round_.model_dump() for round_ in run.rounds))
    origin = ResultOrigin(stored.scenario.sha256, stored.scenario.imports, stored.model, stored.versions)
    return StoredResults(stored.scenario.name, origin, runs)


def _run_text(key: RunKey, run: StoredRun) -> str:
    head = _json({"assignor": key[0], "seed": key[1]})[1:-1]
    figures = json.dumps(run.figures, indent=2, ensure_ascii=False)
    rounds = ",\n  ".join(_json(record) for record in run.rounds)
    return f'{{{head}, "figures": {figures}, "rounds": [\n  {rounds}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _rows_by_run(tables: Tables, name: str) -> dict[RunKey, list[dict[str, Any]]]:
    rows: dict[RunKey, list[dict[str, Any]]] = {}
    for row in table_rows(tables, name):
        rows.setdefault(_key(row), []).append(row)
    return rows


def _key(row: Mapping[str, Any]) -> RunKey:
    return str(row["assignor"]), int(row["seed"])
