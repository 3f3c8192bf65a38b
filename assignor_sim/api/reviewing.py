"""`sim.review`: invariants and quality of an assignor against a baseline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assignor_sim.text_files import json_text
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.outcomes import CaseOutcome
from reports.analysis.review.report import REVIEW_METRICS, ReviewReport, build_report, report_record, timing_records
from reports.analysis.review.sequences import sequence_files

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

DEFAULT_BASE: Final = "high_availability"
SUITES: Final = ("standard",)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Review:
    """An assignor reviewed against a baseline; `print` shows the summary that `assignor-sim review` prints.

    Attributes:
        report: invariants, families, and the smallest scenarios with violations.
        outcomes: both assignors in every case.
    """

    report: ReviewReport
    outcomes: tuple[CaseOutcome, ...]

    def summary(self) -> pd.DataFrame:
        """Return one row for each family and metric: means, wins, losses, ties, difference, 95 % CI, p and verdict."""
        import pandas as pd

        families: list[dict[str, Any]] = report_record(self.report)["families"]
        rows = [{"family": family["name"], **finding} for family in families for finding in family["findings"]]
        return pd.DataFrame(rows)

    def timings(self) -> pd.DataFrame:
        """Return the measured compute times by family, in ms, which differ from run to run."""
        import pandas as pd

        return pd.DataFrame(timing_records(self.outcomes))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write report, page and the smallest scenarios to a directory, and the measured times to timings.json.

        Args:
            directory: created if it does not exist; earlier results are replaced.

        Raises:
            ResultsError: the directory has other content, or cannot be written.
        """
        from reports.render.report_formats import report_markdown, report_page
        from reports.render.review import review_junit, review_report
        from simulator.results.result_directory import write_results

        record, report = report_record(self.report), review_report(self.report)
        files = {
            "review.json": json_text(record).encode(),
            "review.md": report_markdown(report).encode(),
            "review.html": report_page(report).encode(),
            "review.xml": review_junit(self.report),
            "timings.json": json_text(timing_records(self.outcomes)).encode(),
            **{f"violations/{shrunk.file}": shrunk.text.encode() for shrunk in self.report.shrunk},
            **{f"violations/{name}": text.encode() for name, text in self.report.tests},
            **{f"violations/{name}": text.encode() for name, text in self._sequence_files().items()},
        }
        keys = ("base", "head", "suite", "seed", "cases", "conclusion")
        write_results(Path(directory), {}, {"kind": "review", **{key: record[key] for key in keys}}, files)

    def _sequence_files(self) -> dict[str, str]:
        return {} if self.report.sequences is None else sequence_files(self.report.sequences.smallest)

    def __str__(self) -> str:
        from reports.render.report_formats import report_text
        from reports.render.review import review_report

        return report_text(review_report(self.report))

    def __repr__(self) -> str:
        return f"<Review of {self.report.head} against {self.report.base}, {self.report.cases} cases>"


def review(
    head: AssignorLike,
    base: AssignorLike = DEFAULT_BASE,
    scenarios: Iterable[str | os.PathLike[str]] = (),
    *,
    suite: str = "standard",
    quick: bool = False,
    seed: int = 1,
    metrics: Sequence[str] = REVIEW_METRICS,
    base_configs: Mapping[str, Any] | None = None,
    head_configs: Mapping[str, Any] | None = None,
    families: Sequence[str] = (),
    sequences: int = 0,
    timing: bool = False,
    limits: CallLimits = DEFAULT_LIMITS,
    workers: int | None = None,
    spark: SparkSession | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Review:
    """Review an assignor: check its invariants, and compare it with a baseline; `assignor-sim review` in Python.

    Args:
        head: the assignor under review, as in `run`; other processes must be able to import it.
        base: the baseline.
        scenarios: scenario files or names of shipped ones; by default those of the suite.
        suite: name of the suite.
        quick: whether to run the quick selection of the suite.
        seed: seed of the suite.
        metrics: keys of the metrics to compare.
        base_configs: Streams configs with which the baseline runs, by Kafka's keys.
        head_configs: the same for the assignor under review.
        families: families to run; by default all.
        sequences: number of sequences of rebalances that both assignors run, too, as in `fuzz_sequences`; without
            configs.
        timing: whether to time both assignors, which are in Java, at four sizes; without configs.
        limits: limits of custom assignors, as in `run`.
        workers: number of processes; by default one for each CPU. The results do not depend on it.
        spark: Spark session whose workers run the cases, instead of processes of this machine; with the same results.
        on_progress: called with a description of the progress.

    Returns:
        The review.

    Raises:
        AssignorError: an assignor is unknown.
        ValueError: a metric, suite, family or config is unknown, other processes cannot build an assignor, or one to
            time is not in Java.
        OSError: a scenario cannot be read.

    Examples:
        >>> import assignor_sim as sim
        >>> found = sim.review("sticky", "high_availability", families=["cold"], quick=True, workers=1)
        >>> [family.name for family in found.report.families]
        ['cold']
    """
    from assignor_sim.junit import junit_tests
    from pipeline.review.case_runs import Reviewed
    from pipeline.review.run import run_review
    from pipeline.review.timing import QUICK, WHOLE
    from scenarios.suite.standard import FAMILY_DESCRIPTIONS, OWN, VERSION, own_cases, standard_suite

    _check(metrics, suite, families, FAMILY_DESCRIPTIONS)
    if sequences and (base_configs or head_configs):
        raise ValueError("sequences have no configs: each draws its number of standbys; leave one of both out")
    if timing and (base_configs or head_configs):
        raise ValueError("timing has no configs: all sizes have one standby; leave one of both out")
    files = list(scenarios)
    reviewed_base = Reviewed.of(base, base_configs or {}, limits)
    reviewed_head = Reviewed.of(head, head_configs or {}, limits)
    cases = own_cases(files) if files else standard_suite(seed, quick=quick)
    cases = [case for case in cases if not families or case.family in families]
    runs = run_review(
        cases,
        reviewed_base,
        reviewed_head,
        metrics,
        sequences=sequences,
        seed=seed,
        timing=(QUICK if quick else WHOLE) if timing else None,
        workers=workers,
        spark=spark,
        on_progress=on_progress or (lambda text: None),
    )
    name = OWN if files else f"{VERSION}{' (quick)' if quick else ''}"
    labels = (reviewed_base.label, reviewed_head.label)
    report = build_report(runs.outcomes, labels, metrics, FAMILY_DESCRIPTIONS, name, seed, runs.shrunk)
    if runs.sequences is not None:
        origin = f"assignor-sim review --head {reviewed_head.label} --seed {seed}"
        tests = tuple(junit_tests(head, runs.sequences.smallest, origin).items())
        report = replace(report, sequences=runs.sequences, tests=tests)
    return Review(replace(report, timing=runs.timing, untimed=runs.untimed), runs.outcomes)


def _check(metrics: Sequence[str], suite: str, families: Sequence[str], known_families: Mapping[str, str]) -> None:
    """Raise an error for an unknown name."""
    known_names = {"metric": tuple(COMPARABLE_METRICS), "suite": SUITES, "family": tuple(known_families)}
    given = {"metric": metrics, "suite": (suite,), "family": families}
    for kind, names in given.items():
        for name in names:
            if name not in known_names[kind]:
                known = ", ".join(known_names[kind])
                raise ValueError(f"unknown {kind} '{name}' (known: {known})")
