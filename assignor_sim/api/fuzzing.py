"""`sim.fuzz`: search scenarios in which an assignor violates an invariant, or is far from the optimum.

`sim.fuzz_sequences` searches sequences of rebalances, without a simulation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.fuzzing import COST, FuzzReport, fuzz_record, violation_records
from reports.analysis.review.sequences import SequenceReport, sequence_files, sequence_record, sequence_records

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_CASES: Final = 400
OBJECTIVES: Final = tuple(key for key in COMPARABLE_METRICS if key != "not_converged")
"""Metrics whose highest value can be searched."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fuzzing:
    """The result of a search; `print` shows what `assignor-sim fuzz` prints.

    Attributes:
        report: the violations, the worst case, and how much was tried.
    """

    report: FuzzReport

    @property
    def found(self) -> bool:
        """Whether an invariant is violated."""
        return bool(self.report.violations)

    def violations(self) -> pd.DataFrame:
        """Return one row for each violation."""
        import pandas as pd

        return pd.DataFrame(violation_records(self.report.violations))

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return fuzz_record(self.report)

    def __str__(self) -> str:
        from reports.render.fuzz import fuzz_report
        from reports.render.report_formats import report_text

        return report_text(fuzz_report(self.report))

    def __repr__(self) -> str:
        return f"<Fuzzing of {self.report.assignor}, {self.report.cases} cases>"


def fuzz(
    assignor: AssignorLike,
    *,
    cases: int | None = None,
    until_s: float | None = None,
    seed: int = 1,
    corpus: str | os.PathLike[str] | None = None,
    objective: str = COST,
    configs: Mapping[str, Any] | None = None,
    limits: CallLimits = DEFAULT_LIMITS,
    workers: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Fuzzing:
    """Search for scenarios in which an assignor violates an invariant, and for its worst case.

    With a limit in cases and without one in time, the result depends on the assignor, the seed and the corpus only.

    Args:
        assignor: the assignor, as in `run`; other processes must be able to import it.
        cases: number of cases to run; 400 by default if there is no time limit.
        until_s: wall-clock time in seconds after which no further case starts.
        seed: seed of the search.
        corpus: folder with the kept inputs and the found cases, which the search continues; created if missing.
        objective: key of the metric whose highest value is searched; by default the cost above the optimum.
        configs: Streams configs with which the assignor runs, by Kafka's keys.
        limits: limits of a custom assignor, as in `run`.
        workers: number of processes; by default one for each CPU. The results do not depend on it.
        on_progress: called with a description of the progress.

    Returns:
        What was found.

    Raises:
        AssignorError: the assignor is unknown.
        ValueError: a limit, the objective or a config is invalid, or other processes cannot build the assignor.
        CorpusError: the folder is not a corpus, or cannot be read or written.

    Examples:
        >>> import assignor_sim as sim
        >>> sim.fuzz("high_availability", cases=2, workers=1).found
        False
    """
    from pipeline.fuzz.corpus import open_corpus
    from pipeline.fuzz.search import FuzzOptions, run_fuzz
    from pipeline.review.case_runs import Reviewed

    if objective not in OBJECTIVES:
        raise ValueError(f"unknown objective '{objective}' (known: {', '.join(OBJECTIVES)})")
    if (cases is not None and cases < 1) or (until_s is not None and until_s <= 0):
        raise ValueError("the number of cases and the time limit must be above 0")
    if cases is None and until_s is None:
        cases = DEFAULT_CASES
    reviewed = Reviewed.of(assignor, configs or {}, limits)
    options = FuzzOptions(seed, cases, until_s, objective)
    with open_corpus(None if corpus is None else Path(corpus)) as opened:
        report = run_fuzz(reviewed, options, opened, workers=workers, on_progress=on_progress or (lambda text: None))
    return Fuzzing(report)


DEFAULT_SEQUENCES: Final = 10_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SequenceFuzzing:
    """The result of a search over sequences; `print` shows what `assignor-sim fuzz --sequences` prints.

    Attributes:
        report: the violations with their smallest sequences, and how many sequences end unevenly.
        tests: source texts of JUnit 5 tests by file name, for assignors of group coordinators in Java; else empty.
    """

    report: SequenceReport
    tests: Mapping[str, str]

    @property
    def found(self) -> bool:
        """Whether an invariant is violated."""
        return bool(self.report.violations)

    def violations(self) -> pd.DataFrame:
        """Return one row for each violated invariant."""
        import pandas as pd

        return pd.DataFrame(sequence_records(self.report))

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {**sequence_record(self.report), "tests": list(self.tests)}

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the tests, and each smallest sequence as problems and as a scenario, into a folder.

        Args:
            folder: created if it does not exist.

        Raises:
            OSError: a file cannot be written.
        """
        from assignor_sim.text_files import write_text

        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in self.files().items():
            write_text(Path(folder) / name, text)

    def files(self) -> dict[str, str]:
        """Return the texts of the files that `save` writes, by name."""
        return {**self.tests, **sequence_files(self.report.violations)}

    def __str__(self) -> str:
        from reports.render.fuzz import sequences_report
        from reports.render.report_formats import report_text

        return report_text(sequences_report(self.report))

    def __repr__(self) -> str:
        return f"<SequenceFuzzing of {self.report.assignor}, {self.report.sequences} sequences>"


def fuzz_sequences(
    assignor: AssignorLike,
    *,
    sequences: int | None = None,
    until_s: float | None = None,
    seed: int = 1,
    limits: CallLimits = DEFAULT_LIMITS,
    workers: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> SequenceFuzzing:
    """Search for sequences of rebalances in which an assignor violates an invariant.

    In a sequence, processes join and leave; then nothing changes any more, and the assignor must settle. Nothing is
    simulated: each rebalance takes the assignment before as carried out.

    Args:
        assignor: the assignor, as in `run`; other processes must be able to import it.
        sequences: number of sequences; 10,000 by default if there is no time limit. The result depends on it, on the
            seed and on the assignor only.
        until_s: wall-clock time in seconds after which the search ends.
        seed: seed of the sequences.
        limits: limits of a custom assignor, as in `run`.
        workers: number of processes; by default one for each CPU. The results do not depend on it.
        on_progress: called with a description of the progress.

    Returns:
        What was found.

    Raises:
        AssignorError: the assignor is unknown.
        ValueError: a limit is invalid, or other processes cannot build the assignor.

    Examples:
        >>> import assignor_sim as sim
        >>> sim.fuzz_sequences("high_availability", sequences=20, workers=1).found
        False
    """
    from assignor_sim.junit import junit_tests
    from pipeline.fuzz.sequence_search import SequenceOptions, search_sequences
    from pipeline.review.case_runs import Reviewed

    if (sequences is not None and sequences < 1) or (until_s is not None and until_s <= 0):
        raise ValueError("the number of sequences and the time limit must be above 0")
    if sequences is None and until_s is None:
        sequences = DEFAULT_SEQUENCES
    reviewed = Reviewed.of(assignor, {}, limits)
    options = SequenceOptions(seed, sequences, until_s)
    report = search_sequences(reviewed, options, workers=workers, on_progress=on_progress or (lambda text: None))
    origin = f"assignor-sim fuzz --assignor {report.assignor} --seed {seed}"
    return SequenceFuzzing(report, junit_tests(assignor, report.violations, origin))
