"""The reports of searches for violations: over scenarios, and over sequences of rebalances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.analysis.formatting import format_percent
from reports.analysis.review.fuzzing import FuzzReport, ScenarioSize, violation_records, worst_text
from reports.analysis.review.sequences import SequenceReport, sequence_records
from reports.analysis.text import listed
from reports.document import Block, Paragraph, Points, Report, ReportSection, records_table
from simulator.plurals import counted


def fuzz_report(found: FuzzReport) -> Report:
    """Return the report of a search; CSV has its violations."""
    earlier = found.all_cases - found.cases
    more = f" after {earlier:,} earlier ones" if earlier else ""
    effort = (
        f"{counted(found.cases, 'case')}{more}, seed {found.seed}; {counted(found.inputs, 'input')} "
        f"cover {counted(found.features, 'feature')}"
    )
    sections = [
        ReportSection("effort", "", [Paragraph(effort, "note")], leads=True),
        ReportSection("conclusion", "", [Paragraph(found.conclusion, "bad" if found.violations else "good")]),
        ReportSection("violations", "Violations", list(_violations(found))),
        ReportSection("worst", "", list(_worst(found))),
        ReportSection("notes", "", [Points(list(_notes(found)), "note")]),
    ]
    return Report(found.assignor, sections)


def _violations(found: FuzzReport) -> Iterator[Block]:
    columns = ("invariant", "found", "case", "seed", "clients", "tasks", "events", "file", "message")
    records = violation_records(found.violations)
    yield records_table("violations", {name: name for name in columns}, records, ("csv", "markdown"))
    texts = []
    for one in found.violations:
        size = one.size or "did not recur when the case was run again"
        place = _place(one.file, size, one.seed, f"case {one.case}" if one.is_new else "known from the corpus")
        texts.append(f"{one.invariant}: {one.message}; {place}")
    yield Points(texts, only=("terminal",))


def _place(file: str | None, size: ScenarioSize | str, seed: int, found: str) -> str:
    return f"{f'{file}: ' if file else ''}{size}, seed {seed} ({found})"


def _worst(found: FuzzReport) -> Iterator[Block]:
    worst = found.worst
    if worst is None:
        yield Paragraph(f"Worst case: none has a value of {found.objective} above 0.")
        return
    place = _place(worst.file, worst.size, worst.seed, f"case {worst.case}")
    yield Paragraph(f"Worst case: {worst_text(worst)}. {place}.")
    gap = worst.gap
    record: dict[str, Any] = {"objective": worst.metric, "value": worst.value, "case": worst.case, "seed": worst.seed}
    bound = {name: getattr(gap, name) if gap else None for name in ("cost", "bound", "is_proven")}
    record |= {**bound, "file": worst.file}
    yield records_table("worst", {name: name for name in record}, [record], ("markdown",))


def _notes(found: FuzzReport) -> Iterator[str]:
    if found.mended:
        yield f"No longer violated: {listed(found.mended)}."
    if found.costs and found.worst is not None and found.worst.gap is not None:
        yield (
            f"The optimum is that of assignments as balanced as the assignor's own, with its weights; proven in "
            f"{found.proven:,} of {found.costs:,} cases."
        )
    if found.violations and not any(one.file for one in found.violations):
        yield "--corpus DIR stores the scenarios; assignor-sim verify replays them."
    yield "A search that finds nothing proves nothing."


def sequences_report(found: SequenceReport) -> Report:
    """Return the report of a search over sequences; CSV has its violations."""
    effort = f"{counted(found.sequences, 'sequence')} of rebalances, seed {found.seed}"
    columns = ("invariant", "count", "percent", "number", "smallest", "message")
    texts = [
        f"{one.invariant}: in {one.count:,} ({format_percent(100 * one.count / found.sequences)}). Smallest: "
        f"{one.size}; {one.message}"
        for one in found.violations
    ]
    sections = [
        ReportSection("effort", "", [Paragraph(effort, "note")], leads=True),
        ReportSection("conclusion", "", [Paragraph(found.conclusion, "bad" if found.violations else "good")]),
        ReportSection(
            "violations",
            "Violations",
            [
                records_table(
                    "violations", {name: name for name in columns}, sequence_records(found), ("csv", "markdown")
                ),
                Points(texts, only=("terminal",)),
            ],
        ),
        ReportSection("notes", "", [Points(list(_sequence_notes(found)), "note")]),
    ]
    return Report(found.assignor, sections)


def _sequence_notes(found: SequenceReport) -> Iterator[str]:
    for title, count, worst in (
        ("active tasks", found.uneven, found.worst_uneven),
        ("active tasks with state", found.uneven_stateful, found.worst_uneven_stateful),
    ):
        if count:
            yield (
                f"{count:,} sequences ({format_percent(100 * count / found.sequences)}) end with {title} above an even "
                f"share of their thread, at most {worst}."
            )
        else:
            yield f"No sequence ends with {title} above an even share of their thread."
    yield "A search that finds nothing proves nothing."
