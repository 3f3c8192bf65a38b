"""The report of round diffs: tasks lost and gained per client, and where each task moved and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reports.analysis.cells import Cell
from reports.analysis.formatting import format_clock, format_count
from reports.analysis.runs.round_diff import RoundDiff, TaskChange, TaskHolders, move_reason_text
from reports.analysis.scaled_rounds import trigger_text
from reports.document import Points, Report, ReportColumn, ReportRow, ReportSection, ReportTable, records_table

_STANDBYS_ONLY = "standbys only"


def diffs_report(diffs: Sequence[RoundDiff]) -> Report:
    """Return the report of at least one diff of the same round; CSV has a row for each task that differs."""
    titles = [f"{' and '.join(diff.assignors)}, seed {diff.seed}: round {diff.round}" for diff in diffs]
    sections = [
        ReportSection(
            f"diff-{number}", title, [Points(list(_facts(diff))), _clients(diff), _tasks(diff)], leads=len(diffs) == 1
        )
        for number, (title, diff) in enumerate(zip(titles, diffs, strict=True))
    ]
    keys = ("assignor", "seed", "round", "task", "before", "after", "reason", "steps")
    rows = [dict(zip(keys, row, strict=True)) for diff in diffs for row in _task_rows(diff)]
    sections.append(ReportSection("tasks", "", [records_table("tasks", {key: key for key in keys}, rows)]))
    return Report(titles[0] if len(diffs) == 1 else f"{diffs[0].scenario}: round {diffs[0].round}", sections)


def _facts(diff: RoundDiff) -> Iterator[str]:
    yield summary(diff)
    for side, at_ms, reason in zip(diff.assignors, diff.at_ms, diff.reasons, strict=True):
        yield f"{f'{side}: ' if len(diff.assignors) > 1 else ''}{format_clock(at_ms)}, {trigger_text(reason)}"


def summary(diff: RoundDiff) -> str:
    """Return the differences as a sentence.

    For example `70 of 169 tasks moved (27 balance, 43 to a copy); standbys of 12 more differ.`
    """
    if not diff.tasks:
        return "Nothing changed." if len(diff.assignors) == 1 else "Both assign all tasks to the same clients."
    moved = [change for change in diff.tasks if change.is_move]
    rest = len(diff.tasks) - len(moved)
    is_initial = len(diff.assignors) == 1 and not any(change.before for change in diff.tasks)
    verb = "assigned for the first time" if is_initial else "moved" if len(diff.assignors) == 1 else "run elsewhere"
    also = f"; standbys of {format_count(rest)} more differ" if rest else ""
    return f"{format_count(len(moved))} of {format_count(diff.num_tasks)} tasks {verb}{_reasons(moved)}{also}."


def _reasons(moved: Sequence[TaskChange]) -> str:
    counts = Counter(move_reason_text(change.reason) for change in moved if change.reason)
    counts_text = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
    return f" ({counts_text})" if counts_text else ""


def _clients(diff: RoundDiff) -> ReportTable:
    sides = ("lost", "gained") if len(diff.assignors) == 1 else tuple(f"only {side}" for side in diff.sides)
    columns = [
        ReportColumn("client", "client"),
        *(ReportColumn(title, title, is_number=True) for title in ("active", "standby")),
        *(ReportColumn(title, title) for title in sides),
    ]
    rows: list[ReportRow] = [
        [
            change.client,
            _from_to(change.runs),
            _from_to(change.stands_by),
            " ".join(change.lost),
            " ".join(change.gained),
        ]
        for change in diff.clients
        if change.is_change
    ]
    return ReportTable("clients", columns, rows, only=("terminal", "markdown"))


def _from_to(counts: tuple[int, int]) -> str:
    before, after = counts
    return str(after) if before == after else f"{before} → {after}"


def _tasks(diff: RoundDiff) -> ReportTable:
    titles = ("task", *diff.sides, *(("reason",) if len(diff.assignors) == 1 else ()))
    rows: list[ReportRow] = []
    for change in diff.tasks:
        why = ": ".join(filter(None, (move_reason_text(change.reason), "; ".join(change.steps))))
        reason = Cell(why) if change.is_move else Cell(_STANDBYS_ONLY, emphasis="note")
        row: list[Cell | str] = [change.task, _holders(change.before), _holders(change.after), reason]
        rows.append(row[: len(titles)])
    columns = [ReportColumn(title, title) for title in titles]
    return ReportTable("tasks", columns, rows, only=("terminal", "markdown"))


def _holders(holders: TaskHolders) -> str:
    """Return the client of the active task, and in brackets those of its standbys."""
    active, *others = ["–" if client is None else client for client in holders] or ["–"]
    return f"{active} ({', '.join(others)})" if others else active


def _task_rows(diff: RoundDiff) -> Iterator[tuple[object, ...]]:
    assignor = " and ".join(diff.assignors)
    for change in diff.tasks:
        before, after = (["–" if name is None else name for name in side] for side in (change.before, change.after))
        reason = move_reason_text(change.reason) if change.is_move else _STANDBYS_ONLY
        yield assignor, diff.seed, diff.round, change.task, before, after, reason, change.steps
