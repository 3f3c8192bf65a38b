"""The result of fuzzing as text for terminals, and as tables for CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from reports.analysis.review.fuzzing import FuzzReport, violation_records, worst_text
from reports.analysis.text import printable
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, lines
from reports.render.terminal.facts import FactTable

_VIOLATION_COLUMNS: Final = {
    "invariant": "invariant",
    "found": "found",
    "case": "case",
    "seed": "seed",
    "clients": "clients",
    "tasks": "tasks",
    "events": "events",
    "file": "file",
    "message": "message",
}


def fuzz_text(report: FuzzReport, *, width: int | None = None, color: bool | None = None) -> str:
    """Render the result of fuzzing as text that ends with a newline."""
    return lines(_parts(report), width, color=color)


def _parts(report: FuzzReport) -> Iterator[RenderableType]:
    yield Text(printable(report.assignor), style=HEADER)
    yield Text(_effort(report), style=QUIET)
    yield Text()
    yield Text(report.conclusion, style=BAD if report.violations else GOOD)
    for one in report.violations:
        yield Text()
        yield Text(f"{one.invariant}: {printable(one.message)}")
        place = f"  {printable(one.file)}: " if one.file else "  "
        size = str(one.size) if one.size else "did not recur when the case was run again"
        found = f"case {one.case}" if one.is_new else "known from the corpus"
        yield Text(f"{place}{size}, seed {one.seed} ({found})", style=QUIET)
    yield Text()
    yield Text(_worst(report))
    if report.worst is not None:
        place = f"  {printable(report.worst.file)}: " if report.worst.file else "  "
        yield Text(f"{place}{report.worst.size}, seed {report.worst.seed} (case {report.worst.case})", style=QUIET)
    yield Text()
    for note in _notes(report):
        yield Text(f"– {note}", style=QUIET)


def _effort(report: FuzzReport) -> str:
    earlier = report.all_cases - report.cases
    more = f" after {earlier:,} earlier ones" if earlier else ""
    return (
        f"{report.cases:,} cases{more}, seed {report.seed}; {report.inputs:,} inputs cover {report.features:,} features"
    )


def _worst(report: FuzzReport) -> str:
    if report.worst is None:
        return f"Worst case: none has a value of {report.objective} above 0."
    return f"Worst case: {worst_text(report.worst)}."


def _notes(report: FuzzReport) -> Iterator[str]:
    if report.mended:
        files = ", ".join(printable(file) for file in report.mended)
        yield f"No longer violated: {files}."
    if report.costs and report.worst is not None and report.worst.gap is not None:
        yield (
            f"The optimum is that of assignments as balanced as the assignor's own, with its weights; proven in "
            f"{report.proven:,} of {report.costs:,} cases."
        )
    if report.violations and not any(one.file for one in report.violations):
        yield "--corpus DIR stores the scenarios; assignor-sim verify replays them."
    yield "A search that finds nothing proves nothing."


def fuzz_tables(report: FuzzReport) -> list[FactTable]:
    """Return the violations and the worst case as tables."""
    violations = FactTable("violations", "Violations", _VIOLATION_COLUMNS, violation_records(report.violations))
    rows = []
    if report.worst is not None:
        worst = report.worst
        rows = [
            {
                "objective": worst.metric,
                "value": worst.value,
                "cost": worst.gap.cost if worst.gap else None,
                "bound": worst.gap.bound if worst.gap else None,
                "is_proven": worst.gap.is_proven if worst.gap else None,
                "case": worst.case,
                "seed": worst.seed,
                "file": worst.file,
            }
        ]
    keys = ("objective", "value", "cost", "bound", "is_proven", "case", "seed", "file")
    worst_table = FactTable("worst", "Worst case", dict(zip(keys, keys, strict=True)), rows)
    effort = {
        "assignor": report.assignor,
        "seed": report.seed,
        "cases": report.cases,
        "inputs": report.inputs,
        "features": report.features,
        "conclusion": report.conclusion,
    }
    return [violations, worst_table, FactTable("search", "Search", {key: key for key in effort}, [effort])]
