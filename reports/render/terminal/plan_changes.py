"""The changes of a plan as text: a table of the brokers before and after, and a line per partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from reports.analysis.formatting import format_bytes, format_count
from reports.analysis.plans.changes import BrokerChange, PartitionChange
from reports.analysis.text import printable
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines, terminal_width
from simulator.plurals import counted


def draw(
    strategy: str,
    changes: Sequence[PartitionChange],
    brokers: Sequence[BrokerChange],
    max_changes: int | None = None,
    *,
    width: int | None = None,
    color: bool | None = None,
) -> str:
    """Draw the changes of a plan.

    `brokers`: the brokers before and after. `max_changes`: maximum number of partitions to list; by default all.
    Returns the text, which ends with a newline.
    """
    return lines(_parts(strategy, changes, brokers, max_changes, terminal_width(width)), width, color=color)


def _parts(
    strategy: str,
    changes: Sequence[PartitionChange],
    brokers: Sequence[BrokerChange],
    max_changes: int | None,
    width: int,
) -> Iterator[RenderableType]:
    yield Text(f"Changes by {printable(strategy)}: {summary(changes)}", HEADER)
    yield Text()
    yield _brokers(brokers)
    if changes:
        yield Text()
    listed = changes[:max_changes]
    for change in listed:
        yield _line(change, width)
    if len(listed) < len(changes):
        hidden = format_count(len(changes) - len(listed))
        yield Text(f"… {hidden} more (all: --changes {len(changes)}, or --out DIR)", QUIET)


def summary(changes: Sequence[PartitionChange]) -> str:
    """Return the number of changes, for example `3 partitions; 2 replicas to copy (1.5 GB), 1 new leader.`"""
    if not changes:
        return "none."
    copies = sum(change.num_copies for change in changes)
    sizes = [change.copied_bytes for change in changes if change.copied_bytes is not None]
    total = f" ({format_bytes(sum(sizes))})" if copies and len(sizes) == len(changes) else ""
    elections = sum(change.leader != change.new_leader for change in changes)
    parts = (
        f"{counted(len(changes), 'partition')}; {counted(copies, 'replica')} to copy{total}",
        counted(elections, "new leader"),
    )
    return f"{', '.join(parts)}."


def _line(change: PartitionChange, width: int) -> Text:
    """Return a partition, as in `orders-3: [1,2,3] → [1,2,10]  leader 3 → 1, copy 1.2 GB`.

    If that is wider than the terminal, what follows the replicas has a line of its own.
    """
    text = Text(overflow="fold")
    text.append(f"{printable(change.topic)}-{change.partition}: ")
    text.append_text(_replicas(change.before, frozenset(change.after), BAD))
    if change.before != change.after:
        text.append(" → ")
        text.append_text(_replicas(change.after, frozenset(change.before), GOOD))
    notes = []
    if change.leader != change.new_leader:
        notes.append(f"leader {'none' if change.leader is None else change.leader} → {change.new_leader}")
    if change.num_copies and change.copied_bytes is not None:
        notes.append(f"copy {format_bytes(change.copied_bytes)}")
    note = "  " + ", ".join(notes)
    if text.cell_len + len(note) > width:
        text.append("\n  ")
    return text.append(note if notes else "", QUIET)


def _replicas(brokers: Sequence[int], others: frozenset[int], style: str) -> Text:
    """Return broker ids; those that are not on the other side have a style."""
    ids = [Text(str(broker), "" if broker in others else style) for broker in brokers]
    return Text("[").append_text(Text(",").join(ids)).append("]")


def _brokers(brokers: Sequence[BrokerChange]) -> RenderableType:
    """Return a table of the brokers before and after; the unchanged figures are written once."""
    has_sizes = any(broker.bytes is not None for broker in brokers)
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column(Text("broker"), justify="right")
    table.add_column(Text("rack"))
    for title in ("replicas", "preferred leaders", *(["bytes"] if has_sizes else [])):
        table.add_column(Text(title), justify="right")
    for broker in brokers:
        cells = [Text(str(broker.broker)), Text("–" if broker.rack is None else printable(broker.rack))]
        cells += [Text(_from_to(*map(format_count, pair))) for pair in (broker.replicas, broker.leaders)]
        if has_sizes:
            cells.append(Text("" if broker.bytes is None else _from_to(*map(format_bytes, broker.bytes))))
        table.add_row(*cells)
    return table


def _from_to(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"
