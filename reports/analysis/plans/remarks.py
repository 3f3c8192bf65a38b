"""Remarks on a plan, for terminals and pages."""

from __future__ import annotations

from collections.abc import Iterator

from reports.analysis.formatting import format_number
from reports.analysis.plans.plan_row import PlanRow
from simulator.plurals import counted


def remarks(row: PlanRow) -> Iterator[str]:
    """Yield the reason for a missing plan, the objective, notes, and the location of the files."""
    if row.reason:
        yield f"{status_words(row.status)}: {row.reason}"
    if row.objective and row.value is not None:
        yield f"{row.objective}: {format_number(row.value)}{_proof(row)}"
    yield from row.notes
    if row.changes == 0 and not row.elections:
        yield "nothing to change"
    elif row.folder is not None:
        yield f"{_files(row)} in {row.folder}"


def _proof(row: PlanRow) -> str:
    if row.bound is None:
        return ""
    return ", proven optimal" if row.bound == row.value else f", proven bound {format_number(row.bound)}"


def _files(row: PlanRow) -> str:
    text = f"{counted(row.changes or 0, 'partition')}, {counted(row.elections or 0, 'election')}"
    return text if row.batches is None else f"{text}, {counted(row.batches, 'batch', 'batches')}"


def status_words(status: str) -> str:
    """Return a status as text."""
    return status.replace("_", " ")
