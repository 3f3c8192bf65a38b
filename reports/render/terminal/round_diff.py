"""A round diff for people at a terminal: which client lost and gained what, and where each task went and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import format_clock, format_count
from reports.analysis.runs.round_diff import ClientChange, RoundDiff, TaskChange, TaskHolders, why
from reports.analysis.text import printable
from reports.render.terminal.console import HEADER, QUIET, grid, lines

_STANDBYS_ONLY = "standbys only"


def draw(diffs: Sequence[RoundDiff], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw diffs one below the other.

    Args:
        diffs: what to draw.
        width: of the terminal, in characters; found out if None.
        color: whether to write the codes for colours; found out if None.
    """
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
    """What differs, in a sentence: `70 of 169 tasks moved (27 balance, 43 to a copy); standbys of 12 more changed.`"""
    if not diff.tasks:
        return "Nothing changed." if len(diff.assignors) == 1 else "Both give everything to the same clients."
    moved = [each for each in diff.tasks if each.is_move]
    rest = len(diff.tasks) - len(moved)
    verb = "moved" if len(diff.assignors) == 1 else "run elsewhere"
    also = f"; of {format_count(rest)} more only the standbys differ" if rest else ""
    return f"{format_count(len(moved))} of {format_count(diff.num_tasks)} tasks {verb}{_reasons(moved)}{also}."


def _reasons(moved: Sequence[TaskChange]) -> str:
    counts = Counter(why(each.reason) for each in moved if each.reason)
    said = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
    return f" ({said})" if said else ""


def _heading(diff: RoundDiff) -> Text:
    text = Text(style=HEADER)
    if len(diff.assignors) == 1:
        text.append(f"{printable(diff.assignors[0])}, seed {diff.seed}: round {diff.round}")
    else:
        both = " and ".join(map(printable, diff.assignors))
        text.append(f"{both}, seed {diff.seed}: round {diff.round} of each")
    for at_ms, reason in zip(diff.at_ms, diff.reasons, strict=True):
        text.append(f"\n{format_clock(at_ms)}  {printable(reason)}", style="not bold")
    return text


def _clients(diff: RoundDiff) -> Table:
    one, other = map(printable, diff.sides)
    rounds = len(diff.assignors) == 1
    table = grid()
    table.add_column(Text("client"))
    table.add_column(Text("runs"), justify="right")
    table.add_column(Text("stands by"), justify="right")
    table.add_column(Text("lost" if rounds else f"only {one}"), ratio=1)
    table.add_column(Text("gained" if rounds else f"only {other}"), ratio=1)
    for each in diff.clients:
        if each.is_change:
            table.add_row(*_client(each))
    _spaced(table)
    return table


def _client(each: ClientChange) -> Iterator[Text]:
    yield Text(printable(each.client))
    yield Text(_from_to(each.runs))
    yield Text(_from_to(each.stands_by))
    yield Text(" ".join(map(printable, each.lost)))
    yield Text(" ".join(map(printable, each.gained)))


def _from_to(counts: tuple[int, int]) -> str:
    before, after = counts
    return str(after) if before == after else f"{before} → {after}"


def _tasks(diff: RoundDiff) -> Table:
    table = grid()
    table.add_column(Text("task"))
    for side in diff.sides:
        table.add_column(Text(printable(side)))
    if len(diff.assignors) == 1:
        table.add_column(Text("why"))
    for each in diff.tasks:
        row = [Text(printable(each.task)), _held(each.before), _held(each.after)]
        if len(diff.assignors) == 1:
            row.append(_why(each))
        table.add_row(*row)
    _spaced(table)
    return table


def _why(each: TaskChange) -> Text:
    """The reason, and how the assignor came to it where that was recorded."""
    if not each.is_move:
        return Text(_STANDBYS_ONLY, style=QUIET)
    text = Text(why(each.reason))
    return text.append(f": {'; '.join(each.steps)}", style=QUIET) if each.steps else text


def _held(held: TaskHolders) -> Text:
    """Who runs it, and in brackets who stands by."""
    if not held:
        return Text("–", style=QUIET)
    runs, *others = held
    text = Text("–" if runs is None else printable(runs))
    if others:
        text.append(f" ({', '.join(printable(str(each)) for each in others)})", style=QUIET)
    return text


def _spaced(table: Table) -> None:
    table.padding = (0, 1)
