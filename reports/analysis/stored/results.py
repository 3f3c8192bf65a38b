"""Stored results of a scenario: a JSON file that people can review.

It holds every metric of every run and a digest of each round's assignment. Where the assignments change little, it also
holds the first assignment and the changes of later rounds. Floats are stored with nine digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.stored.rounds import stored_rounds
from simulator.results.schema_checks import SchemaError, StoredRecord, check_record, read_json

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
