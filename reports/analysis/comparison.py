"""The comparison of assignors: one row per scenario and assignor, with unformatted numbers.

Over several seeds, each metric has its median and range. They cover the runs in which the metric is known: the time to
converge, for example, is unknown for a run that did not converge.

Applications that ran on the cluster at the same time as the compared one have figures of their own.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from reports.analysis.metrics import ALL_METRICS, METRIC, Metric, Run, is_relevant, least_relevant
from simulator.results.verdict import INCOMPARABLE

FIGURES = ("restored_bytes", "worst_downtime_ms", "rebalances_to_converge", "time_to_converge_ms")


@dataclass(frozen=True, slots=True)
class NeighborFigures:
    """Another application, over all runs of an assignor.

    Attributes:
        application: its application.id.
        medians: the median of each of `FIGURES` over the runs; None if it is unknown in one of them.
    """

    application: str
    runs: int
    medians: Mapping[str, float | None]

    def describe(self) -> str:
        """Return its figures in a sentence part: `payments restored 12 GB, …`."""
        restored = self.medians["restored_bytes"]
        downtime = METRIC["worst_downtime_ms"].write(self.medians["worst_downtime_ms"] or 0)
        rebalances, time_ms = (self.medians[name] for name in FIGURES[2:])
        if time_ms is None:
            ended = "did not converge"
        elif rebalances:
            ended = f"converged in {METRIC['time_to_converge_ms'].write(time_ms)}"
        else:
            ended = "had no rebalance after an event"
        if restored is None:  # A consumer group has no state.
            return f"{self.application} had its worst partition down for {downtime}, and it {ended}"
        state = METRIC["restored_bytes"].write(restored)
        return f"{self.application} restored {state}, its worst task was down for {downtime}, and it {ended}"

    def record(self) -> dict[str, Any]:
        """Return its figures, JSON-serializable."""
        return {"application": self.application, "runs": self.runs, **self.medians}


def neighbor_figures(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[NeighborFigures, ...]]:
    """Return the neighbors by scenario and assignor.

    `rows`: the rows of the table `neighbors`.
    """
    runs: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        runs.setdefault((row["scenario"], row["assignor"]), {}).setdefault(row["application"], []).append(row)
    return {
        key: tuple(
            NeighborFigures(application, len(of_runs), {name: _median(of_runs, name) for name in FIGURES})
            for application, of_runs in by_application.items()
        )
        for key, by_application in runs.items()
    }


def _median(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if any(value is None for value in values) else statistics.median(values)


_ABOVE_BOUND = "_above_bound"
"""In the keys of metrics that are differences to a lower bound."""

Tables = Mapping[str, pa.Table]
"""Result tables of one or several runs by name, as in `simulator.results.tables.SCHEMAS`."""


class TableError(ValueError):
    """A result table is missing."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of a metric over seeds.

    Attributes:
        median: median over the runs in which the metric is known.
        minimum: minimum over the same runs.
        maximum: maximum over the same runs.
        runs: number of runs in which the metric is known.
    """

    median: float
    minimum: float
    maximum: float
    runs: int


@dataclass(frozen=True, slots=True)
class RunProblem:
    """Why a run failed, cycles or never converges.

    Attributes:
        seed: seed of the run.
        verdict: how the run ended.
        text: the reason, for people.
    """

    seed: int
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class OptimumProof:
    """Proven bounds on the optimal cost in a round.

    Attributes:
        seed: seed of the run.
        lower_bound: lower bound on the cost of any assignment with the same balance.
        best_known_cost: cost of the cheapest known assignment.
    """

    seed: int
    lower_bound: int
    best_known_cost: int

    @property
    def is_exact(self) -> bool:
        """Whether the optimum is proven."""
        return self.lower_bound == self.best_known_cost


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """An assignor in a scenario, over all seeds.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seeds: seed of each run.
        verdicts: number of runs by verdict, most frequent first.
        problems: reasons of runs that failed, cycle or never converge.
        spreads: median and range of each metric of `ALL_METRICS` by its key; None if unknown in all runs.
        proofs: proven bounds in the deciding round of each run that has them.
        unavailable: partitions that were unavailable in any run, longest total time first.
        time_ranges: rows of the table `time_ranges`: runs whose outcome depends on client times.
        neighbors: the other applications that ran on the cluster at the same time.
        broker_release: Kafka release of the brokers; None if unknown.
        client_release: Kafka release of the clients; None if unknown.
        protocol: group protocol; None if unknown.
    """

    scenario: str
    assignor: str
    seeds: tuple[int, ...]
    verdicts: tuple[tuple[str, int], ...]
    problems: tuple[RunProblem, ...]
    spreads: Mapping[str, Spread | None]
    proofs: tuple[OptimumProof, ...]
    unavailable: tuple[str, ...] = ()
    time_ranges: tuple[Mapping[str, Any], ...] = ()
    neighbors: tuple[NeighborFigures, ...] = ()
    broker_release: str | None = None
    client_release: str | None = None
    protocol: str | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether every run reached an assignment, so that its metrics can be compared."""
        return not INCOMPARABLE & {verdict for verdict, _ in self.verdicts}

    def has_all(self, metric: str) -> bool:
        """Return whether the metric is known in every run."""
        spread = self.spreads[metric]
        return spread is not None and spread.runs == len(self.seeds)


def table(tables: Tables, name: str) -> pa.Table:
    """Return a table by its name; raise TableError if the table is missing."""
    if name not in tables:
        raise TableError(f"table {name!r} is missing (tables: {', '.join(sorted(tables)) or 'none'})")
    return tables[name]


def table_rows(tables: Tables, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table; raise TableError if the table is missing."""
    rows: list[dict[str, Any]] = table(tables, name).to_pylist()
    return rows


def rows_of_run(tables: Tables, name: str, key: tuple[str, str], seed: int) -> pa.Table:
    """Return the rows of a table that belong to one run.

    `key`: scenario and assignor. Raises TableError if the table is missing.
    """
    import pyarrow.compute as pc

    rows = table(tables, name)
    for column, value in zip(("scenario", "assignor", "seed"), (*key, seed), strict=True):
        rows = rows.filter(pc.equal(rows[column], value))
    return rows


def compare_runs(tables: Tables) -> list[ComparisonRow]:
    """Return one row per scenario and assignor, in the order of the table `runs`.

    Raises TableError if the table is missing.
    """
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in table_rows(tables, "runs"):
        runs.setdefault((run["scenario"], run["assignor"]), []).append(run)
    proofs = proofs_by_round(tables)
    unavailable, time_ranges = _unavailable(tables), _time_ranges(tables)
    neighbors = neighbor_figures(table_rows(tables, "neighbors"))
    return [
        replace(
            _row(*key, assignor_runs, proofs),
            unavailable=unavailable.get(key, ()),
            time_ranges=tuple(time_ranges.get(key, ())),
            neighbors=neighbors.get(key, ()),
            broker_release=assignor_runs[0]["broker_release"],
            client_release=assignor_runs[0]["client_release"],
            protocol=assignor_runs[0]["protocol"],
        )
        for key, assignor_runs in runs.items()
    ]


def _unavailable(tables: Tables) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the unavailable partitions by scenario and assignor, longest total time first."""
    totals: dict[tuple[str, str], Counter[str]] = {}
    for row in table_rows(tables, "unavailable_partitions"):
        assignor_runs = totals.setdefault((row["scenario"], row["assignor"]), Counter())
        assignor_runs[f"{row['topic']}-{row['partition']}"] += row["until_ms"] - row["from_ms"]
    return {
        key: tuple(sorted(assignor_runs, key=lambda name: (-assignor_runs[name], name)))
        for key, assignor_runs in totals.items()
    }


def _time_ranges(tables: Tables) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Return the runs whose outcome depends on client times, by scenario and assignor."""
    by_row: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in table_rows(tables, "time_ranges"):
        by_row.setdefault((row["scenario"], row["assignor"]), []).append(row)
    return by_row


def proofs_by_round(tables: Tables) -> dict[tuple[str, str, int, int], OptimumProof]:
    """Return the proven bounds by scenario, assignor, seed and round number."""
    return {
        (row["scenario"], row["assignor"], row["seed"], row["round"]): OptimumProof(
            row["seed"], row["total_cost_bound"], row["best_known_total_cost"]
        )
        for row in table_rows(tables, "proofs")
    }


def rows_by_scenario(rows: Iterable[ComparisonRow]) -> dict[str, list[ComparisonRow]]:
    """Return the rows by scenario: only rows of the same scenario are comparable."""
    by_scenario: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        by_scenario.setdefault(row.scenario, []).append(row)
    return by_scenario


def best_rows(rows: Sequence[ComparisonRow], metric: Metric) -> tuple[ComparisonRow, ...]:
    """Return the rows with the lowest median of a metric, as it is shown.

    Rows whose difference from the lowest is not relevant (`is_relevant`) are as good. Ignores rows with failed runs,
    and rows in which the metric is unknown in some run. The result is empty if all compared rows are equally good, if
    lower values of the metric are not better, or if several rows are at their lower bounds: assignors have bounds of
    their own, so being at one does not make them best.
    """
    if not metric.lower_is_better:
        return ()
    known = [row for row in rows if row.is_comparable and row.has_all(metric.name)]
    if metric.name == "cost_above_bound" and all(row.has_all("cost_above_bound_percent") for row in known):
        metric = METRIC["cost_above_bound_percent"]
    medians = [(spread.median, row) for row in known if (spread := row.spreads[metric.name])]
    if not medians or (_ABOVE_BOUND in metric.name and sum(not median for median, _ in medians) > 1):
        return ()
    lowest = min(median for median, _ in medians)
    winners = tuple(
        row
        for median, row in medians
        if metric.write(median) == metric.write(lowest)
        or not is_relevant(median - lowest, median, least_relevant(metric.name))
    )
    return () if len(winners) == len(medians) else winners


def verdict_text(row: ComparisonRow) -> str:
    """Return how the runs ended: `stable`, or `stable 3/5, probing 2/5`."""
    if len(row.verdicts) == 1:
        return row.verdicts[0][0]
    return ", ".join(f"{verdict} {count}/{len(row.seeds)}" for verdict, count in row.verdicts)


def _row(
    scenario: str, assignor: str, runs: Sequence[Run], proofs: Mapping[tuple[str, str, int, int], OptimumProof]
) -> ComparisonRow:
    deciding_proofs = [proofs.get((scenario, assignor, run["seed"], run["deciding_round"])) for run in runs]
    verdicts: dict[str, int] = {}
    for run in runs:
        verdicts[run["verdict"]] = verdicts.get(run["verdict"], 0) + 1
    return ComparisonRow(
        scenario=scenario,
        assignor=assignor,
        seeds=tuple(run["seed"] for run in runs),
        verdicts=tuple(sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))),
        problems=tuple(_problems(runs)),
        spreads={metric.name: _spread([metric.of(run) for run in runs]) for metric in ALL_METRICS.values()},
        proofs=tuple(proof for proof in deciding_proofs if proof is not None),
    )


def _problems(runs: Iterable[Run]) -> Iterator[RunProblem]:
    for run in runs:
        text = run["cause"]
        if run["repeats_round"] is not None:
            text = f"round {run['verdict_round']} repeats the assignment of round {run['repeats_round']}"
        if text is not None:
            yield RunProblem(run["seed"], run["verdict"], text)


def _spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    median = statistics.median(known)
    # The median of an even number of ints is a float, even if it is a whole number.
    is_whole = isinstance(known[0], int) and median == int(median)
    return Spread(int(median) if is_whole else median, min(known), max(known), len(known))
