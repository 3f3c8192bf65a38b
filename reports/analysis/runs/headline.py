"""The four headline figures of each assignor: cost, longest outage, time to converge, and state moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reports.analysis.cells import Cell, convergence_cell, metric_cell
from reports.analysis.comparison import ComparisonRow, best_rows, verdict_text
from reports.analysis.metrics import METRIC
from simulator.results.verdict import Verdict

_RATE, _PER_DAY = "cross_rack_bytes_per_s", "cross_rack_usd_per_day"
_OUTAGE = "longest_downtime_ms"
_OTHERS = (_OUTAGE, "time_to_converge_ms", "restored_bytes")


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """The headline figures of an assignor.

    Attributes:
        assignor: label of the assignor.
        verdict: how its runs ended, unless all are stable.
        cells: per title, the cell and whether it is best.
    """

    assignor: str
    verdict: str
    cells: tuple[tuple[Cell, bool], ...]


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline figures of one scenario.

    Attributes:
        titles: titles of the figures.
        rows: one per assignor.
        has_price: whether costs are known.
    """

    titles: tuple[str, ...]
    rows: tuple[HeadlineRow, ...]
    has_price: bool


def headline(rows: Sequence[ComparisonRow]) -> Headline:
    """Return the headline figures of the assignors of one scenario.

    The first figure is the cost per day with the traffic as a note; without a price, it is the traffic.
    """
    has_price = any(row.spreads[_PER_DAY] for row in rows)
    names = (_PER_DAY if has_price else _RATE, *_OTHERS)
    best = {name: best_rows(rows, METRIC[name]) for name in names}
    return Headline(
        tuple(METRIC[name].title for name in names),
        tuple(
            HeadlineRow(
                row.assignor,
                "" if [verdict for verdict, _ in row.verdicts] == [Verdict.STABLE] else verdict_text(row),
                tuple((_cell(row, name), row in best[name]) for name in names),
            )
            for row in rows
        ),
        has_price,
    )


def _cell(row: ComparisonRow, name: str) -> Cell:
    if name == "time_to_converge_ms":
        return convergence_cell(row)
    cell = metric_cell(row, METRIC[name])
    if name == _PER_DAY:
        return replace(cell, notes=(*cell.notes, metric_cell(row, METRIC[_RATE]).text))
    if name == _OUTAGE:
        return replace(cell, notes=(*cell.notes, f"worst total {metric_cell(row, METRIC['worst_downtime_ms']).text}"))
    return cell
