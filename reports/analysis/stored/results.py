"""Stored results: what a scenario came to, as JSON that people can review.

Every figure of every run is stored, what each round decided as a digest, and, where that is little, task by task: the
first round whole, of later ones what changed. Figures that are sums of floats are stored to nine digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.stored.rounds import stored_rounds

FORMAT: Final = 2

_RENAMED: Final = {"rounds_to_stable": "rebalances_to_converge", "stable_after_ms": "time_to_converge_ms"}
"""Figures that were stored under other names, up to model 3."""

RunKey = tuple[str, int]
"""Label of the assignor, and seed."""


class StoredResultsError(Exception):
    """A file that holds no stored results; says which and why."""


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """What results were made from.

    Attributes:
        scenario: SHA-256 of the scenario's text.
        imports: SHA-256 of each file that it imports.
        model: the number of the model.
        versions: of the packages that have a say in the results.
    """

    scenario: str
    imports: Mapping[str, str]
    model: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run came to.

    Attributes:
        figures: the columns of the table `runs`.
        rounds: one a rebalance, as in `stored_rounds`.
    """

    figures: Mapping[str, Any]
    rounds: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class StoredResults:
    """What a scenario came to, and what that was made from."""

    name: str
    origin: ResultOrigin
    runs: Mapping[RunKey, StoredRun] = field(default_factory=dict)


def stored(tables: Tables, name: str, origin: ResultOrigin) -> StoredResults:
    """What there is to store of the runs of a scenario.

    Args:
        tables: must hold `runs`, `rounds` and `assignments`.
        name: of the scenario.
        origin: what they were made from.
    """
    rounds, copies = _by_run(tables, "rounds"), _by_run(tables, "assignments")
    runs = {}
    for run in table_rows(tables, "runs"):
        key = _key(run)
        figures = {name: _rounded(value) for name, value in run.items() if name not in ("scenario", "assignor", "seed")}
        runs[key] = StoredRun(figures, tuple(stored_rounds(rounds.get(key, []), copies.get(key, []))))
    return StoredResults(name, origin, runs)


def write_stored(results: StoredResults) -> str:
    """The text of a file of stored results: the same for the same results, a line a figure and a line a round."""
    origin = results.origin
    head = {"format": FORMAT, "model": origin.model, "versions": dict(sorted(origin.versions.items()))}
    scenario = {"name": results.name, "sha256": origin.scenario, "imports": dict(sorted(origin.imports.items()))}
    runs = ",\n".join(_run_text(key, run) for key, run in results.runs.items())
    return f'{_json(head)[:-1]},\n"scenario": {_json(scenario)},\n"runs": [\n{runs}\n]}}\n'


def read_stored(text: str, name: str) -> StoredResults:
    """Read stored results back.

    Args:
        text: what the file holds.
        name: what messages call the file.

    Raises:
        StoredError: it holds something else.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise StoredResultsError(f"{name}: not stored results: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoredResultsError(f"{name}: not stored results of format {FORMAT}; record them anew")
    try:
        scenario = data["scenario"]
        return StoredResults(
            scenario["name"],
            ResultOrigin(scenario["sha256"], dict(scenario["imports"]), int(data["model"]), dict(data["versions"])),
            {_key(run): StoredRun(_named(run["figures"]), tuple(map(_checked, run["rounds"]))) for run in data["runs"]},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoredResultsError(
            f"{name}: not stored results of format {FORMAT}: {error!r} in them; record anew"
        ) from error


def _named(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in dict(figures).items()}


def _checked(each: Any) -> Mapping[str, Any]:
    """A round, if it is one: what is compared later must be there."""
    return {**each, "round": int(each["round"]), "digest": str(each["digest"]), "changes": _places(each)}


def _places(each: Mapping[str, Any]) -> dict[str, list[str | None]] | None:
    changes = each["changes"]
    return None if changes is None else {task: list(places) for task, places in changes.items()}


def _run_text(key: RunKey, run: StoredRun) -> str:
    head = _json({"assignor": key[0], "seed": key[1]})[1:-1]
    figures = json.dumps(run.figures, indent=2, ensure_ascii=False)
    rounds = ",\n  ".join(_json(each) for each in run.rounds)
    return f'{{{head}, "figures": {figures}, "rounds": [\n  {rounds}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _by_run(tables: Tables, name: str) -> dict[RunKey, list[dict[str, Any]]]:
    found: dict[RunKey, list[dict[str, Any]]] = {}
    for row in table_rows(tables, name):
        found.setdefault(_key(row), []).append(row)
    return found


def _key(row: Mapping[str, Any]) -> RunKey:
    return str(row["assignor"]), int(row["seed"])
