"""One run of several in the result tables, found by its assignor's label, its seed and one of its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.analysis.comparison import Tables, rows_of_run, table_rows
from reports.analysis.stored.rounds import TaskPlacements, places


class RunLookupError(ValueError):
    """A run, a round or an assignor that is not in the results; says which there are."""


def first_seeds(tables: Tables) -> dict[str, tuple[str, int]]:
    """The scenario and the first seed of each assignor's runs, by its label.

    Raises:
        TableError: there is no table `runs`.
    """
    found: dict[str, tuple[str, int]] = {}
    for run in table_rows(tables, "runs"):
        found.setdefault(run["assignor"], (run["scenario"], run["seed"]))
    return found


def labels(tables: Tables, wanted: Sequence[str]) -> list[str]:
    """The labels of the assignors that are wanted; all if none is named.

    Raises:
        DiffError: one is not in the results.
        TableError: there is no table `runs`.
    """
    known = list(first_seeds(tables))
    for label in wanted:
        if label not in known:
            there = ", ".join(known) or "none"
            raise RunLookupError(f"'{label}' is not an assignor of these results (assignors: {there})")
    return list(wanted) or known


class RunRows:
    """The rows of one run, as seen from one of its rounds.

    Attributes:
        assignor: label.
        seed: of the run.
        scenario: name.
        round: the row of the round.
    """

    def __init__(self, tables: Tables, assignor: str, round_: int, seed: int | None) -> None:
        """Look a run and a round of it up.

        Args:
            tables: must hold `runs`, `rounds` and `assignments`.
            assignor: its label.
            round_: number of the round.
            seed: the first of the assignor's runs if None.

        Raises:
            DiffError: there is no such run or round.
            TableError: a table is missing.
        """
        labels(tables, [assignor])
        runs = [row for row in table_rows(tables, "runs") if row["assignor"] == assignor]
        seeds = [row["seed"] for row in runs]
        if seed is not None and seed not in seeds:
            raise RunLookupError(f"{seed} is not a seed of {assignor} (seeds: {', '.join(map(str, seeds))})")
        self._tables = tables
        self.assignor = assignor
        self.seed = seeds[0] if seed is None else seed
        self.scenario = runs[0]["scenario"]
        key = (self.scenario, assignor)
        rounds = {row["round"]: row for row in rows_of_run(tables, "rounds", key, self.seed).to_pylist()}
        if round_ not in rounds:
            there = f"rounds 1 to {len(rounds)}" if rounds else "no rounds"
            raise RunLookupError(f"{assignor}, seed {self.seed}, has no round {round_} ({there})")
        self.round = rounds[round_]
        self._copies = rows_of_run(tables, "assignments", key, self.seed)

    def actives_of(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table that tell of active tasks in the round."""
        import pyarrow.compute as pc

        rows = rows_of_run(self._tables, name, (self.scenario, self.assignor), self.seed)
        in_round = pc.and_(pc.equal(rows["round"], self.round["round"]), pc.equal(rows["role"], "active"))
        actives: list[dict[str, Any]] = rows.filter(in_round).to_pylist()
        return actives

    def places_in(self, round_: int) -> TaskPlacements:
        """Where the tasks are in a round of the run; nowhere if there is no such round."""
        import pyarrow.compute as pc

        return places(self._copies.filter(pc.equal(self._copies["round"], round_)).to_pylist())
