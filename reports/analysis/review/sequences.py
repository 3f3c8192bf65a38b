"""What a search over sequences of rebalances yields: violations with their smallest sequences, and uneven shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from reports.analysis.review.outcomes import INVARIANTS
from reports.analysis.text import printable
from simulator.plurals import counted


@dataclass(frozen=True, slots=True)
class FoundSequence:
    """An invariant that an assignor violates in sequences.

    Attributes:
        invariant: key of the invariant.
        message: what the assignor did in the smallest sequence.
        count: number of sequences in which it does not hold.
        number: number of the one from which the smallest one was shrunk.
        subtopologies: of the smallest one, as in `assignors.model.sequence.MembershipSequence`; so are the following.
        problems: its rebalances, up to the last one that shows the violation, as lines of a problem file.
        scenario: a scenario file in whose run the assignor violates the invariant, too; empty if none was found.
    """

    invariant: str
    message: str
    count: int
    number: int
    subtopologies: tuple[tuple[int, bool], ...]
    processes: tuple[tuple[str, int], ...]
    standbys: int
    rounds: tuple[tuple[int, ...], ...]
    problems: tuple[str, ...] = ()
    scenario: str = ""

    @property
    def size(self) -> str:
        """The size of the smallest sequence, such as `3 processes, 6 threads, 4 tasks, 2 rebalances`."""
        return ", ".join(
            (
                counted(len(self.processes), "process", "processes"),
                counted(sum(threads for _, threads in self.processes), "thread"),
                counted(sum(tasks for tasks, _ in self.subtopologies), "task"),
                counted(len(self.rounds), "rebalance"),
            )
        )


@dataclass(frozen=True, slots=True)
class SequenceReport:
    """The result of a search over sequences.

    Attributes:
        assignor: label of the assignor.
        sequences: number of sequences that were run.
        violations: by invariant.
        uneven: number of sequences that end with active tasks above an even share of their thread.
        worst_uneven: the largest number of such tasks.
        uneven_stateful: the same as `uneven`, of tasks with state only.
        worst_uneven_stateful: the same as `worst_uneven`.
    """

    assignor: str
    seed: int
    sequences: int
    violations: tuple[FoundSequence, ...]
    uneven: int
    worst_uneven: int
    uneven_stateful: int
    worst_uneven_stateful: int

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        sequences = counted(self.sequences, "sequence")
        if not self.violations:
            return f"No violation in {sequences}."
        broken = ", ".join(f"{one.invariant} in {one.count:,}" for one in self.violations)
        return f"Of {sequences}, an invariant does not hold: {broken}."


def sequence_record(report: SequenceReport) -> dict[str, Any]:
    """Return the report as a record for JSON."""
    record = asdict(report)
    for violation in record["violations"]:
        del violation["problems"], violation["scenario"]
    return {**record, "conclusion": report.conclusion}


def scenario_file(invariant: str) -> str:
    """Return the name of the scenario of a sequence; other searches write `INVARIANT.yaml`."""
    return f"sequence-{invariant.replace('_', '-')}.yaml"


def sequence_files(found: Iterable[FoundSequence]) -> dict[str, str]:
    """Return the problem file of each sequence, and its scenario if there is one, by their names."""
    files: dict[str, str] = {}
    for one in found:
        files[f"{one.invariant}.jsonl"] = "".join(f"{line}\n" for line in one.problems)
        if one.scenario:
            files[scenario_file(one.invariant)] = one.scenario
    return files


def sequence_records(report: SequenceReport) -> list[dict[str, Any]]:
    """Return one flat record for each violated invariant."""
    return [
        {
            "invariant": one.invariant,
            "count": one.count,
            "percent": 100 * one.count / report.sequences,
            "number": one.number,
            "smallest": one.size,
            "message": printable(one.message),
        }
        for one in report.violations
    ]


@dataclass(frozen=True, slots=True)
class SequenceCount:
    """In how many sequences an invariant does not hold, or shares are uneven.

    Attributes:
        key: the invariant, or `uneven` or `uneven_stateful`.
        base: number of sequences with the baseline.
        head: number of sequences with the assignor under review.
        only_head: number of sequences with the latter, but not with the former.
    """

    key: str
    base: int
    head: int
    only_head: int

    @property
    def is_invariant(self) -> bool:
        """Whether an invariant is counted."""
        return self.key in INVARIANTS

    @property
    def title(self) -> str:
        """What is counted, in words."""
        return _TITLES.get(self.key, self.key)


_TITLES: Final = {
    "uneven": "uneven active tasks",
    "uneven_stateful": "uneven active tasks with state",
}


@dataclass(frozen=True, slots=True)
class SequenceComparison:
    """Two assignors in the same sequences.

    Attributes:
        counts: the invariants that do not hold somewhere, and the uneven shares.
        smallest: by invariant, a smallest sequence in which the assignor under review violates it, shrunk from one in
            which the baseline does not.
    """

    sequences: int
    counts: tuple[SequenceCount, ...]
    smallest: tuple[FoundSequence, ...]

    @property
    def regressions(self) -> list[SequenceCount]:
        """The invariants that only the assignor under review violates somewhere."""
        return [count for count in self.counts if count.is_invariant and count.only_head]

    @property
    def conclusion(self) -> str:
        """Which invariants only the assignor under review violates, in a sentence."""
        named = ", ".join(f"{count.key} ({count.only_head:,})" for count in self.regressions)
        sequences = counted(self.sequences, "sequence")
        result = f"only head violates {named}" if named else "head violates nothing that base does not"
        return f"In {sequences}, {result}."
