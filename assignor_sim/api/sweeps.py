"""`sim.sweep`: run a scenario in many settings on Spark, and aggregate the runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from pipeline.aggregate import aggregate
from pipeline.session import connect
from pipeline.storage import Storage
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from pipeline.sweep.stop_rule import StopRule
from reports.analysis.expectations import SettingCount, count_settings
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import PreparedSweep, prepare_sweep

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    from simulator.results.run_metrics import Expectation


@contextmanager
def spark_session(spark: SparkSession | None) -> Iterator[SparkSession]:
    """Yield the session of the caller, or by default the active one, else an embedded one that ends with the block."""
    if spark is not None:
        yield spark
        return
    with connect(fast_start=True) as session:
        yield session


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepResult:
    """Result of a sweep; `print` shows the summary that `assignor-sim sweep` prints.

    Attributes:
        directory: folder or URI of the tables.
        summary: Pareto-optimal combinations, best values and most influential factors, JSON-serializable.
        runs: number of runs, failed ones included.
        failed: number of runs that ended with an error; see the column `error` of the table `runs`.
        expectations: in how many settings each assignor meets the expectations of the scenario.
    """

    directory: str
    summary: Mapping[str, Any]
    runs: int
    failed: int
    expectations: tuple[SettingCount, ...] = ()

    def to_pandas(self, table: str = "cells") -> pd.DataFrame:
        """Return an aggregate table of a sweep in a local folder.

        Args:
            table: name of the table, such as `cells`, `front` or `differences`.

        Returns:
            The table as a data frame.

        Raises:
            FileNotFoundError: the folder has no such table, or is not local.
        """
        import pandas as pd

        path = Path(self.directory) / "aggregate" / table
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such table")
        return pd.read_parquet(path)

    def __str__(self) -> str:
        from reports.render.report_formats import report_text
        from reports.render.sweep import sweep_report
        from reports.render.terminal.console import terminal_width

        return report_text(sweep_report(self.summary, list(map(str, self.expectations)), width=terminal_width(None)))

    def __repr__(self) -> str:
        return f"<SweepResult of {self.runs} runs in {self.directory}>"


def prepare(
    sweep: str | os.PathLike[str],
    assignors: Sequence[AssignorLike] = (),
    *,
    limits: CallLimits = DEFAULT_LIMITS,
    command: str = "",
) -> PreparedSweep:
    """Load a sweep and plan its runs; needs no Spark.

    Args:
        sweep: a sweep file, or the name of a shipped sweep.
        assignors: assignors in place of the sweep's.
        limits: limits of custom assignors, as in `run`.
        command: the command line, for the manifest.

    Returns:
        The sweep, with its number of runs and its warnings.

    Raises:
        ScenarioError: the scenario is invalid in the first setting.
        AssignorError: an assignor is unknown.
        SweepError: the baseline is not one of the assignors.
    """
    loaded = load_sweep(sweep)
    return prepare_sweep(loaded, assignors, command, limits)


def sweep(
    sweep: str | os.PathLike[str] | PreparedSweep,
    out: str | os.PathLike[str],
    assignors: Sequence[AssignorLike] = (),
    *,
    resume: bool = False,
    until_significant: Sequence[str] = (),
    between: Literal["assignors", "settings"] = "assignors",
    baseline_setting: Sequence[str] = (),
    limits: CallLimits = DEFAULT_LIMITS,
    spark: SparkSession | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> SweepResult:
    """Run a scenario in every setting of a sweep, with every assignor and seed; `assignor-sim sweep` in Python.

    Args:
        sweep: a sweep file, the name of a shipped sweep, or a prepared sweep.
        out: folder or URI for the tables.
        assignors: assignors in place of the sweep's, as in `run`. An object must be importable by the workers:
            defined in a module, not in a notebook cell. A prepared sweep has its assignors.
        resume: whether to complete an interrupted sweep in `out`.
        until_significant: keys of metrics; an assignor gets no further seeds in a setting when the sign of its
            difference from the baseline in all of them is decided. By default, all declared seeds are run.
        between: what `until_significant` compares: assignors in each setting, or settings with each assignor.
        baseline_setting: the setting that the others are compared with, as `factor=value`; by default the first.
        limits: limits of custom assignors, as in `run`. A prepared sweep has its limits.
        spark: the Spark session; by default the active one, else Spark embedded in this process on all cores.
        on_progress: called with the number of completed runs from time to time.

    Returns:
        The summary and the place of the tables.

    Raises:
        ScenarioError: the scenario is invalid in the first setting.
        AssignorError: an assignor is unknown.
        SweepError: the baseline is not one of the assignors, an assignor cannot be pickled, `out` holds something
            else, or `until_significant` cannot stop anything or names an unknown metric or setting.
        AggregateError: the runs cannot be aggregated.
        SparkError: Spark does not start, or fails.
    """
    prepared = sweep if isinstance(sweep, PreparedSweep) else prepare(sweep, assignors, limits=limits)
    rule = None
    if until_significant:
        rule = StopRule.of(prepared, until_significant, between=between, baseline_setting=baseline_setting)
    job = SweepJob.of(prepared, stop_rule=rule)
    with spark_session(spark) as session:
        state = run_sweep(session, job, os.fspath(out), resume=resume, on_progress=on_progress or (lambda _: None))
        summary = aggregate(session, [os.fspath(out)])
        counts = _count_settings(session, os.fspath(out), prepared.scenario.expectations)
    return SweepResult(os.fspath(out), summary, state.total, state.failed, counts)


def _count_settings(spark: SparkSession, out: str, expectations: Sequence[Expectation]) -> tuple[SettingCount, ...]:
    """Check the expectations of the scenario on the runs of a sweep, setting by setting."""
    if not expectations:
        return ()
    runs = spark.read.parquet(Storage(spark, out).path("runs"))
    rows = runs.orderBy("setting", "assignor", "seed").toLocalIterator()
    return tuple(count_settings((row.asDict() for row in rows), expectations))
