"""The changes between two Kafka releases as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.release_changes import (
    ReleaseChanges,
    UpgradeEffect,
    cause_sentence,
    conclude_releases,
    share,
)
from reports.analysis.release_differences import ALL, AssignorHistory
from reports.analysis.text import printable
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import HEADER, QUIET, grid, keep_figures, lines, terminal_width
from reports.render.terminal.facts import FactTable

WIDTH = 80
"""Maximum width in characters."""


def draw(changes: ReleaseChanges, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw the changes.

    `width`: width of the terminal in characters; detected by default; at most 80 are used.
    """
    return lines(_parts(changes), min(terminal_width(width), WIDTH), color=color)


def _parts(changes: ReleaseChanges) -> Iterator[RenderableType]:
    yield Text(f"Kafka {changes.older} to {changes.newer}: different answers on the same problems", style=HEADER)
    yield Text()
    yield _answers(changes)
    for history, counts in changes.causes():
        yield Text()
        sentence = cause_sentence(history.between(changes.older, changes.newer), counts)
        yield Text(keep_figures(f"{history.name}: {sentence}"))
    if changes.not_compared:
        yield Text()
        names = ", ".join(changes.not_compared)
        yield Text(f"Not compared, as a release is unpublished or has no such assignor: {names}.")
    yield Text()
    if changes.effects:
        yield from _effects("Upgrade of the brokers", changes, changes.effects)
        yield Text()
    if changes.client_effects:
        yield from _effects("Upgrade of the clients", changes, changes.client_effects)
        yield Text()
    if changes.same_clients:
        names = ", ".join(map(printable, changes.same_clients))
        yield Text(f"Clients of both releases behave alike in {names}.")
        yield Text()
    yield Text(
        "Order only: the answers differ for sorted or for hash collections, not for both. Answers were measured with "
        "the released classes on random problems.",
        style=QUIET,
    )
    if findings := conclude_releases(changes):
        yield Text("\nConclusion", style=HEADER)
        yield from map(point, findings)


def _answers(changes: ReleaseChanges) -> Table:
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column(Text("Assignor\n  on problems with"))
    for title in ("Problems", "Different\nanswers", "Active\ntasks", "Standbys\nonly", "Order\nonly"):
        table.add_column(Text(title), justify="right", no_wrap=True)
    for history, family, found in changes.answers():
        kinds = (f"{found.actives:,}", f"{found.standbys:,}", f"{found.order_only:,}") if found.different else ("",) * 3
        table.add_row(Text(_title(history, family)), f"{found.problems:,}", share(found), *kinds)
    return table


def _title(history: AssignorHistory, family: str) -> str:
    return history.name if family == ALL else f"  {family}"


def _effects(title: str, changes: ReleaseChanges, effects: Sequence[UpgradeEffect]) -> Iterator[RenderableType]:
    yield Text(f"{title}: changed figures, as medians over the seeds", style=HEADER)
    yield Text()
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column(Text("Scenario, assignor"))
    for release in (changes.older, changes.newer):
        table.add_column(Text(f"Kafka {release}"), justify="right", no_wrap=True)
    for effect in effects:
        found = list(effect.changes())
        name = f"{printable(effect.scenario)}, {printable(effect.assignor)}"
        table.add_row(Text(name), "" if found else "no change", "")
        for title, before, after in found:
            table.add_row(Text(f"  {title}"), Text(before), Text(after))
    yield table


def tables(changes: ReleaseChanges) -> list[FactTable]:
    """Return the different answers, and the changed figures of the scenarios, as tables."""
    answers = {
        "assignor": "assignor",
        "family": "problems with",
        "problems": "problems",
        "different": "different answers",
        "actives": "active tasks",
        "standbys": "standbys only",
        "order_only": "order only",
    }
    counts = [
        {
            "assignor": history.name,
            "family": family,
            "problems": found.problems,
            "different": found.different,
            "actives": found.actives,
            "standbys": found.standbys,
            "order_only": found.order_only,
        }
        for history, family, found in changes.answers()
    ]
    effects = {
        "upgrade": "upgrade",
        "scenario": "scenario",
        "assignor": "assignor",
        "metric": "metric",
        "from": f"Kafka {changes.older}",
        "to": f"Kafka {changes.newer}",
    }
    figures = [
        {
            "upgrade": upgrade,
            "scenario": effect.scenario,
            "assignor": effect.assignor,
            "metric": title,
            "from": a,
            "to": b,
        }
        for upgrade, listed in (("brokers", changes.effects), ("clients", changes.client_effects))
        for effect in listed
        for title, a, b in effect.changes()
    ]
    answers_table = FactTable(
        "answers", f"Kafka {changes.older} to {changes.newer}: different answers", answers, counts
    )
    return [answers_table, *([FactTable("effects", "Changed figures", effects, figures)] if figures else [])]
