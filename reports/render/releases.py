"""The report of the changes between two Kafka releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.analysis.cells import Cell
from reports.analysis.release_changes import (
    ReleaseChanges,
    UpgradeEffect,
    cause_sentence,
    conclude_releases,
    share,
)
from reports.analysis.release_differences import ALL
from reports.document import Block, Paragraph, Points, Report, ReportColumn, ReportRow, ReportSection, ReportTable


def releases_report(changes: ReleaseChanges) -> Report:
    """Return the report of the changes; CSV has the different answers."""
    between = f"Kafka {changes.older} to {changes.newer}"
    return Report(f"{between}: different answers on the same problems", list(_sections(changes)), max_width=80)


def _sections(changes: ReleaseChanges) -> Iterator[ReportSection]:
    yield ReportSection("answers", "", list(_answers(changes)))
    upgrades = (("brokers", changes.effects), ("clients", changes.client_effects))
    for upgraded, effects in upgrades:
        title = f"Upgrade of the {upgraded}: changed figures, as medians over the seeds"
        yield ReportSection(upgraded, title, [_effects(upgraded, changes, effects)])
    if changes.same_clients:
        names = ", ".join(changes.same_clients)
        yield ReportSection("same", "", [Paragraph(f"Clients of both releases behave alike in {names}.")])
    note = (
        "Order only: the answers differ for sorted or for hash collections, not for both. Answers were measured with "
        "the released classes on random problems."
    )
    yield ReportSection("notes", "", [Paragraph(note, "note")])
    yield ReportSection("conclusion", "Conclusion", [Points(conclude_releases(changes))])


def _answers(changes: ReleaseChanges) -> Iterator[Block]:
    columns = [
        ReportColumn("assignor", "Assignor", header="Assignor\n  on problems with"),
        ReportColumn("family", "Problems with", only=("terminal",)),
        ReportColumn("family", "Problems with", only=("markdown", "csv")),
        ReportColumn("problems", "Problems", is_number=True),
        ReportColumn("different", "Different answers", is_number=True, header="Different\nanswers"),
        ReportColumn("actives", "Active tasks", is_number=True, header="Active\ntasks"),
        ReportColumn("standbys", "Standbys only", is_number=True, header="Standbys\nonly"),
        ReportColumn("order_only", "Order only", is_number=True, header="Order\nonly"),
    ]
    rows: list[ReportRow] = []
    for history, family, found in changes.answers():
        kinds = [
            Cell(f"{count:,}" if found.different else "", value=count)
            for count in (found.actives, found.standbys, found.order_only)
        ]
        counts = [Cell(f"{found.problems:,}", value=found.problems), Cell(share(found), value=found.different)]
        rows.append([history.name, "" if family == ALL else family, family, *counts, *kinds])
    yield ReportTable("answers", columns, rows, is_grouped=True)
    for history, counts_without in changes.causes():
        sentence = cause_sentence(history.between(changes.older, changes.newer), counts_without)
        yield Paragraph(f"{history.name}: {sentence}")
    if changes.not_compared:
        names = ", ".join(changes.not_compared)
        yield Paragraph(f"Not compared, as a release is unpublished or has no such assignor: {names}.")


def _effects(key: str, changes: ReleaseChanges, effects: Sequence[UpgradeEffect]) -> ReportTable:
    columns = [
        ReportColumn("scenario", "Scenario, assignor"),
        ReportColumn("metric", "Metric"),
        *(ReportColumn(release, f"Kafka {release}", is_number=True) for release in (changes.older, changes.newer)),
    ]
    rows: list[ReportRow] = [
        [f"{effect.scenario}, {effect.assignor}", *cells]
        for effect in effects
        for cells in list(effect.changes()) or [("", "no change", "")]
    ]
    return ReportTable(key, columns, rows, is_grouped=True)
