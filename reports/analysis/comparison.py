"""The comparison: one row an assignor, with numbers that are still numbers.

Of several seeds each metric has the median and the range. The median is over the runs that have the metric; where some
lack it (the time to converge of a run that did not), the spread says how many have it.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from reports.analysis.metric import Metric, Run
from reports.analysis.metrics import METRICS

Tables = Mapping[str, pa.Table]
"""Result tables by name, as in `simulator.results.tables.SCHEMAS`, of one run or of several."""


class TableError(ValueError):
    """Tables that are not those of a run; says what is missing."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A metric over the seeds; of one seed all three are equal.

    Attributes:
        median: over the runs that have it.
        least: the same.
        most: the same.
        runs: how many runs have it.
    """

    median: float
    least: float
    most: float
    runs: int


@dataclass(frozen=True, slots=True)
class RunProblem:
    """Why a run did not end well."""

    seed: int
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class OptimumProof:
    """What is proven of the cost of a run's last assignment, if that was asked for.

    Attributes:
        seed: of the run.
        least: nothing as balanced costs less.
        cheapest: what the cheapest known costs.
    """

    seed: int
    least: int
    cheapest: int

    @property
    def is_exact(self) -> bool:
        """Whether the optimum is known."""
        return self.least == self.cheapest


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """An assignor in a scenario.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seeds: one a run.
        verdicts: how many runs ended how, most first.
        causes: why runs failed, cycle or never come to rest, one for each of these.
        spreads: every metric by its name; None where no run has it.
        proofs: of the runs of which something was proven.
        unavailable: the partitions that were unavailable in any run, the one with the longest total time first.
    """

    scenario: str
    assignor: str
    seeds: tuple[int, ...]
    verdicts: tuple[tuple[str, int], ...]
    causes: tuple[RunProblem, ...]
    spreads: Mapping[str, Spread | None]
    proofs: tuple[OptimumProof, ...]
    unavailable: tuple[str, ...] = ()

    @property
    def took_part(self) -> bool:
        """Whether every run came to an assignment, so that its figures can be compared."""
        return not {"failed", "empty"} & {verdict for verdict, _ in self.verdicts}

    def has_all(self, metric: str) -> bool:
        """Whether every run has the metric."""
        spread = self.spreads[metric]
        return spread is not None and spread.runs == len(self.seeds)


def table(tables: Tables, name: str) -> pa.Table:
    """A table by its name.

    Raises:
        TableError: there is no such table.
    """
    if name not in tables:
        raise TableError(f"tables: {name!r} is missing (there are: {', '.join(sorted(tables)) or 'none'})")
    return tables[name]


def table_rows(tables: Tables, name: str) -> list[dict[str, Any]]:
    """The rows of a table.

    Raises:
        TableError: there is no such table.
    """
    rows: list[dict[str, Any]] = table(tables, name).to_pylist()
    return rows


def rows_of_run(tables: Tables, name: str, key: tuple[str, str], seed: int) -> pa.Table:
    """The rows of a table that belong to one run.

    Args:
        tables: results.
        name: of the table.
        key: scenario and assignor.
        seed: of the run.

    Raises:
        TableError: there is no such table.
    """
    import pyarrow.compute as pc

    rows = table(tables, name)
    for column, value in zip(("scenario", "assignor", "seed"), (*key, seed), strict=True):
        rows = rows.filter(pc.equal(rows[column], value))
    return rows


def compare_runs(tables: Tables) -> list[ComparisonRow]:
    """Compare what is in the table `runs`, in its order.

    Raises:
        TableError: there is no such table.
    """
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in table_rows(tables, "runs"):
        runs.setdefault((run["scenario"], run["assignor"]), []).append(run)
    proofs = proofs_by_round(tables)
    unavailable = _unavailable(tables)
    return [
        replace(_row(scenario, assignor, of_one, proofs), unavailable=unavailable.get((scenario, assignor), ()))
        for (scenario, assignor), of_one in runs.items()
    ]


def _unavailable(tables: Tables) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the partitions that were unavailable, by scenario and assignor, the longest total time first."""
    totals: dict[tuple[str, str], Counter[str]] = {}
    for row in table_rows(tables, "unavailable_partitions") if "unavailable_partitions" in tables else ():
        of_one = totals.setdefault((row["scenario"], row["assignor"]), Counter())
        of_one[f"{row['topic']}-{row['partition']}"] += row["until_ms"] - row["from_ms"]
    return {key: tuple(sorted(of_one, key=lambda name: (-of_one[name], name))) for key, of_one in totals.items()}


def proofs_by_round(tables: Tables) -> dict[tuple[str, str, int, int], OptimumProof]:
    """What is proven, by scenario, assignor, seed and number of the round; nothing if there is no table `proofs`."""
    rows = table_rows(tables, "proofs") if "proofs" in tables else []
    return {
        (row["scenario"], row["assignor"], row["seed"], row["round"]): OptimumProof(
            row["seed"], row["total_cost_bound"], row["best_known_total_cost"]
        )
        for row in rows
    }


def rows_by_scenario(rows: Iterable[ComparisonRow]) -> dict[str, list[ComparisonRow]]:
    """The rows of each scenario: only these may be compared with each other."""
    found: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        found.setdefault(row.scenario, []).append(row)
    return found


def best(rows: Sequence[ComparisonRow], metric: Metric) -> tuple[ComparisonRow, ...]:
    """The rows that are best by a metric: all whose median is written like the least one.

    Only those are compared that did not fail and have the metric in every run. Nobody is best if these are all equal,
    or if the metric has no better and worse.
    """
    if not metric.lower_is_better:
        return ()
    medians = [
        (spread.median, row)
        for row in rows
        if row.took_part and row.has_all(metric.name) and (spread := row.spreads[metric.name])
    ]
    if not medians:
        return ()
    least = metric.write(min(median for median, _ in medians))
    winners = tuple(row for median, row in medians if metric.write(median) == least)
    return () if len(winners) == len(medians) else winners


def verdict_text(row: ComparisonRow) -> str:
    """How the runs ended: `stable`, or `stable 3/5, probing 2/5`."""
    if len(row.verdicts) == 1:
        return row.verdicts[0][0]
    return ", ".join(f"{verdict} {count}/{len(row.seeds)}" for verdict, count in row.verdicts)


def _row(
    scenario: str, assignor: str, runs: Sequence[Run], proofs: Mapping[tuple[str, str, int, int], OptimumProof]
) -> ComparisonRow:
    decided = [proofs.get((scenario, assignor, run["seed"], run["deciding_round"])) for run in runs]
    verdicts: dict[str, int] = {}
    for run in runs:
        verdicts[run["verdict"]] = verdicts.get(run["verdict"], 0) + 1
    return ComparisonRow(
        scenario=scenario,
        assignor=assignor,
        seeds=tuple(run["seed"] for run in runs),
        verdicts=tuple(sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))),
        causes=tuple(_causes(runs)),
        spreads={metric.name: _spread([metric.of(run) for run in runs]) for metric in METRICS},
        proofs=tuple(each for each in decided if each is not None),
    )


def _causes(runs: Iterable[Run]) -> Iterator[RunProblem]:
    for run in runs:
        text = run["cause"]
        if run["repeats_round"] is not None:
            text = f"round {run['verdict_round']} brings back the assignment of round {run['repeats_round']}"
        if text is not None:
            yield RunProblem(run["seed"], run["verdict"], text)


def _spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    median = statistics.median(known)
    # The median of an even number of whole numbers is a float even where it is whole.
    whole = isinstance(known[0], int) and median == int(median)
    return Spread(int(median) if whole else median, min(known), max(known), len(known))
