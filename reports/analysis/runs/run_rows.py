"""Look-up of one run, and of one of its rounds, in the result tables; several results merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reports.analysis.comparison import Tables, rows_of_run, table_rows
from reports.analysis.stored.results import TaskPlacements, placements


@dataclass(frozen=True, slots=True)
class ResultDirectory:
    """The content of a result directory.

    Attributes:
        name: name of the directory, for people.
        tables: tables as in `simulator.results.tables.SCHEMAS`.
    """

    name: str
    tables: Tables
    manifest: Mapping[str, Any]


def merge_results(results: Sequence[ResultDirectory]) -> tuple[dict[str, pa.Table], list[Mapping[str, Any]]]:
    """Concatenate the tables of several result directories; return the tables, and the manifest of each directory.

    If two directories hold runs of the same scenario, assignor and seed, the labels of all assignors get the name of
    their directory as a prefix. With several directories, each manifest gets its `directory`.
    """
    if len(results) == 1:
        return dict(results[0].tables), [results[0].manifest]
    needs_prefix = _have_common_runs(results)
    parts = [_with_prefix(result.tables, result.name) if needs_prefix else dict(result.tables) for result in results]
    tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    return tables, [{"directory": result.name, **result.manifest} for result in results]


def _have_common_runs(results: Iterable[ResultDirectory]) -> bool:
    seen: set[tuple[Any, ...]] = set()
    for result in results:
        keys = {(row["scenario"], row["assignor"], row["seed"]) for row in result.tables["runs"].to_pylist()}
        if keys & seen:
            return True
        seen |= keys
    return False


def _with_prefix(tables: Tables, name: str) -> dict[str, pa.Table]:
    return {key: _prefix_labels(table, f"{name}: ") for key, table in tables.items()}


def _prefix_labels(table: pa.Table, prefix: str) -> pa.Table:
    import pyarrow.compute as pc

    if "assignor" not in table.column_names:
        return table
    index = table.column_names.index("assignor")
    labels = pc.binary_join_element_wise(prefix, table["assignor"], "")
    return table.set_column(index, table.schema.field("assignor"), labels)


class RunLookupError(ValueError):
    """The results have no such assignor, seed or round."""


def first_seeds(tables: Tables) -> dict[str, tuple[str, int]]:
    """Return the scenario and the first seed of each assignor by its label."""
    seeds: dict[str, tuple[str, int]] = {}
    for run in table_rows(tables, "runs"):
        seeds.setdefault(run["assignor"], (run["scenario"], run["seed"]))
    return seeds


def select_assignors(tables: Tables, wanted: Sequence[str]) -> list[str]:
    """Return the labels of the wanted assignors, or of all assignors if none is given.

    Raises RunLookupError if the results have no such assignor.
    """
    known = list(first_seeds(tables))
    for label in wanted:
        if label not in known:
            raise RunLookupError(f"no assignor '{label}' in these results (assignors: {', '.join(known) or 'none'})")
    return list(wanted) or known


class RunRows:
    """The rows of one run that belong to one of its rounds.

    Attributes:
        assignor: label of the assignor.
        seed: seed of the run.
        scenario: name of the scenario.
        round: row of the round in the table `rounds`.
    """

    def __init__(self, tables: Tables, assignor: str, round_: int, seed: int | None) -> None:
        """Look up a run and one of its rounds.

        `tables`: must hold `runs`, `rounds` and `assignments`. `seed`: seed of the run; by default, the first seed of
        the assignor. Raises RunLookupError if the results have no such run or round.
        """
        select_assignors(tables, [assignor])
        runs = [row for row in table_rows(tables, "runs") if row["assignor"] == assignor]
        seeds = [row["seed"] for row in runs]
        if seed is not None and seed not in seeds:
            raise RunLookupError(f"no seed {seed} of {assignor} (seeds: {', '.join(map(str, seeds))})")
        self._tables = tables
        self.assignor = assignor
        self.seed = seeds[0] if seed is None else seed
        self.scenario = runs[0]["scenario"]
        key = (self.scenario, assignor)
        rounds = {row["round"]: row for row in rows_of_run(tables, "rounds", key, self.seed).to_pylist()}
        if round_ not in rounds:
            available = f"1 to {len(rounds)}" if rounds else "none"
            raise RunLookupError(f"no round {round_} of {assignor}, seed {self.seed} (rounds: {available})")
        self.round = rounds[round_]
        self._copies = rows_of_run(tables, "assignments", key, self.seed)

    def active_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table on active tasks in the round."""
        import pyarrow.compute as pc

        rows = rows_of_run(self._tables, name, (self.scenario, self.assignor), self.seed)
        in_round = pc.and_(pc.equal(rows["round"], self.round["round"]), pc.equal(rows["role"], "active"))
        actives: list[dict[str, Any]] = rows.filter(in_round).to_pylist()
        return actives

    def placements_in(self, round_: int) -> TaskPlacements:
        """Return the placements of the tasks in a round of the run; empty if the run has no such round."""
        import pyarrow.compute as pc

        return placements(self._copies.filter(pc.equal(self._copies["round"], round_)).to_pylist())
