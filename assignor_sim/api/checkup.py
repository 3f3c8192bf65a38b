"""`sim.checkup`: grade an application or a consumer group in standard situations, and find a better setting."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor_sim.text_files import json_text, write_text
from reports.analysis.checkup.report import (
    CheckupReport,
    LockComparison,
    ReportCard,
    compare_lock,
    grade_records,
    lock_text,
    read_lock,
    report_record,
)
from scenarios.language.text_files import read_text
from scenarios.load import Scenario, load
from simulator.model_version import MODEL_VERSION

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_MAX_LOCK_BYTES = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Checkup:
    """The result of a checkup.

    Attributes:
        report: report cards, findings, the recommended changes and their rollout.
    """

    report: CheckupReport

    def grades(self) -> pd.DataFrame:
        """Return one row per setting and area: grade, value, worst value and the situation that decides."""
        import pandas as pd

        return pd.DataFrame(grade_records(self.report))

    def record(self) -> dict[str, Any]:
        """Return everything as a record for JSON."""
        return report_record(self.report)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the report as a page, Markdown, JSON and a lock file to a directory.

        Args:
            directory: created if it does not exist; earlier results are replaced.

        Raises:
            ResultsError: the directory has other content, or cannot be written.
        """
        from reports.render.checkup import checkup_report
        from reports.render.report_formats import report_markdown, report_page
        from simulator.results.result_directory import write_results

        report = checkup_report(self.report)
        files = {
            "checkup.json": json_text(self.record()).encode(),
            "checkup.md": report_markdown(report).encode(),
            "checkup.html": report_page(report).encode(),
            "checkup.lock": self.lock().encode(),
        }
        about = {"application": self.report.application, "seeds": self.report.seeds, "runs": self.report.runs}
        write_results(Path(directory), {}, {"kind": "checkup", **about}, files)

    def lock(self) -> str:
        """Return the grades and what they depend on, as the text of a lock file."""
        return lock_text(self.report, MODEL_VERSION)

    def save_lock(self, path: str | os.PathLike[str]) -> None:
        """Write a lock file, with which later checkups are compared."""
        write_text(Path(path), self.lock())

    def compare(self, path: str | os.PathLike[str]) -> LockComparison:
        """Compare with a lock file.

        Args:
            path: the lock file.

        Returns:
            What has changed since.

        Raises:
            LockError: the file is not a lock file.
            UnreadableError: it cannot be read.
        """
        text = read_text(Path(path), _MAX_LOCK_BYTES, "too long for a stored checkup")
        return compare_lock(self.report, read_lock(text, str(path)), MODEL_VERSION)

    def __str__(self) -> str:
        from reports.render.checkup import checkup_report
        from reports.render.report_formats import report_text

        return report_text(checkup_report(self.report))

    def __repr__(self) -> str:
        return f"<Checkup of {self.report.application}: {self.report.verdict}, {self.report.runs} runs>"


def checkup(
    scenario: Scenario | str | os.PathLike[str],
    *,
    today: str | None = None,
    seed: int = 1,
    seeds: int = 8,
    budget_s: float | None = None,
    workers: int | None = None,
    spark: SparkSession | None = None,
    on_progress: Callable[[str], None] | None = None,
    on_first: Callable[[ReportCard], None] | None = None,
) -> Checkup:
    """Run what happens to every application or group, grade it, and find a better setting; as `assignor-sim checkup`.

    Args:
        scenario: a scenario, a file, or the name of a shipped one. Its own events do not take part, except that the
            first rolling update or restart says how its subject is deployed.
        today: label of the current assignor; by default the first of the scenario.
        seed: the first seed.
        seeds: number of fresh seeds with which the current and the recommended setting are compared.
        budget_s: wall-clock time in seconds, after which no further setting or seed is tried; the result then depends
            on the clock. The rollout is simulated afterwards.
        workers: number of processes; by default one for each CPU. The results do not depend on it.
        spark: Spark session whose workers run the situations, instead of processes of this machine.
        on_progress: called with a description of the progress.
        on_first: called with the first report card of the current setting, before the search.

    Returns:
        The checkup.

    Raises:
        ScenarioError: the scenario is invalid.
        RecommendError: no assignor has the label `today`.
        ValueError: fewer than two seeds, or no time.
    """
    from pipeline.advise.checkup import CheckupRequest, run_checkup
    from pipeline.pool import run_pool

    if seeds < 2:
        raise ValueError(f"seeds: {seeds} is too few for intervals; use at least 2")
    if budget_s is not None and budget_s <= 0:
        raise ValueError(f"budget_s: {budget_s:g} is no time; use seconds above 0")
    time_left = None if budget_s is None else _share_left(budget_s)
    loaded = scenario if isinstance(scenario, Scenario) else load(scenario)
    progress = on_progress or (lambda _: None)
    with run_pool(workers, spark, progress) as run_all:
        request = CheckupRequest(loaded, today, seed, seeds)
        return Checkup(run_checkup(request, run_all, progress, on_first or (lambda _: None), time_left))


def _share_left(budget_s: float) -> Callable[[], float]:
    """Return a function that returns which share of a time that begins now is left."""
    end_s = time.monotonic() + budget_s
    return lambda: (end_s - time.monotonic()) / budget_s
