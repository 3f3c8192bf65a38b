"""A round diff as text: tasks lost and gained per client, and where each task moved and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import format_clock, format_count
from reports.analysis.runs.round_diff import ClientChange, RoundDiff, TaskChange, TaskHolders, move_reason_text
from reports.analysis.scaled_rounds import trigger_text
from reports.analysis.text import printable
from reports.render.terminal.console import HEADER, QUIET, grid, lines
from reports.render.terminal.facts import FactTable

_STANDBYS_ONLY = "standbys only"


def draw(diffs: Sequence[RoundDiff], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw round diffs one below the other."""
    return lines(_parts(diffs), width, color=color)


def _parts(diffs: Sequence[RoundDiff]) -> Iterator[RenderableType]:
    for number, diff in enumerate(diffs):
        if number:
            yield Text()
        yield _heading(diff)
        yield Text(summary(diff))
        if diff.tasks:
            yield Text()
            yield _clients(diff)
            yield Text()
            yield _tasks(diff)


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


def _heading(diff: RoundDiff) -> Text:
    text = Text(style=HEADER)
    if len(diff.assignors) == 1:
        text.append(f"{printable(diff.assignors[0])}, seed {diff.seed}: round {diff.round}")
    else:
        labels = " and ".join(map(printable, diff.assignors))
        text.append(f"{labels}, seed {diff.seed}: round {diff.round}")
    for side, at_ms, reason in zip(diff.assignors, diff.at_ms, diff.reasons, strict=True):
        label = "" if len(diff.assignors) == 1 else f"{printable(side)}: "
        text.append(f"\n{label}{format_clock(at_ms)}  {trigger_text(reason)}", style="not bold")
    return text


def _clients(diff: RoundDiff) -> Table:
    before, after = map(printable, diff.sides)
    rounds = len(diff.assignors) == 1
    table = grid()
    table.add_column(Text("client"))
    table.add_column(Text("active"), justify="right")
    table.add_column(Text("standby"), justify="right")
    table.add_column(Text("lost" if rounds else f"only {before}"), ratio=1)
    table.add_column(Text("gained" if rounds else f"only {after}"), ratio=1)
    for change in diff.clients:
        if change.is_change:
            table.add_row(*_client(change))
    _spaced(table)
    return table


def _client(change: ClientChange) -> Iterator[Text]:
    yield Text(printable(change.client))
    yield Text(_from_to(change.runs))
    yield Text(_from_to(change.stands_by))
    yield Text(" ".join(map(printable, change.lost)))
    yield Text(" ".join(map(printable, change.gained)))


def _from_to(counts: tuple[int, int]) -> str:
    before, after = counts
    return str(after) if before == after else f"{before} → {after}"


def _tasks(diff: RoundDiff) -> Table:
    table = grid()
    table.add_column(Text("task"))
    for side in diff.sides:
        table.add_column(Text(printable(side)))
    if len(diff.assignors) == 1:
        table.add_column(Text("reason"))
    for change in diff.tasks:
        row = [Text(printable(change.task)), _clients_of(change.before), _clients_of(change.after)]
        if len(diff.assignors) == 1:
            row.append(_why(change))
        table.add_row(*row)
    _spaced(table)
    return table


def _why(change: TaskChange) -> Text:
    """Return the reason of a move, and the steps of the assignor if recorded."""
    if not change.is_move:
        return Text(_STANDBYS_ONLY, style=QUIET)
    text = Text(move_reason_text(change.reason))
    if change.steps:
        text.append(f"{': ' if text else ''}{'; '.join(change.steps)}", style=QUIET)
    return text


def _clients_of(holders: TaskHolders) -> Text:
    """Return the client of the active task, and in brackets those of its standbys."""
    if not holders:
        return Text("–", style=QUIET)
    active, *others = holders
    text = Text("–" if active is None else printable(active))
    if others:
        text.append(f" ({', '.join(printable(str(client)) for client in others)})", style=QUIET)
    return text


def _spaced(table: Table) -> None:
    table.padding = (0, 1)


def tables(diffs: Sequence[RoundDiff]) -> list[FactTable]:
    """Return the differing tasks of all diffs, and the differing clients, as tables."""
    before, after = diffs[0].sides if diffs else ("before", "after")
    tasks = {
        "assignor": "assignor",
        "seed": "seed",
        "round": "round",
        "task": "task",
        "before": f"{before}, then its standbys",
        "after": f"{after}, then its standbys",
        "reason": "reason",
        "steps": "steps",
    }
    clients = {
        "assignor": "assignor",
        "client": "client",
        "active_before": f"active: {before}",
        "active_after": f"active: {after}",
        "standby_before": f"standby: {before}",
        "standby_after": f"standby: {after}",
        "lost": "lost",
        "gained": "gained",
    }
    return [
        FactTable("tasks", "Tasks", tasks, [row for diff in diffs for row in _task_rows(diff)]),
        FactTable("clients", "Clients", clients, [row for diff in diffs for row in _client_rows(diff)]),
    ]


def _task_rows(diff: RoundDiff) -> Iterator[dict[str, object]]:
    for change in diff.tasks:
        yield {
            "assignor": " and ".join(diff.assignors),
            "seed": diff.seed,
            "round": diff.round,
            "task": change.task,
            "before": ["–" if client is None else client for client in change.before],
            "after": ["–" if client is None else client for client in change.after],
            "reason": move_reason_text(change.reason) if change.is_move else _STANDBYS_ONLY,
            "steps": change.steps,
        }


def _client_rows(diff: RoundDiff) -> Iterator[dict[str, object]]:
    for change in diff.clients:
        if change.is_change:
            yield {
                "assignor": " and ".join(diff.assignors),
                "client": change.client,
                "active_before": change.runs[0],
                "active_after": change.runs[1],
                "standby_before": change.stands_by[0],
                "standby_after": change.stands_by[1],
                "lost": change.lost,
                "gained": change.gained,
            }
