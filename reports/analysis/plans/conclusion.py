"""The conclusion of a comparison of plans: the question, the recommended plan, and the headline figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from reports.analysis.cells import Cell
from reports.analysis.pareto import NOT_DOMINATED, dominators
from reports.analysis.plans.columns import COLUMNS, PlanColumn
from reports.analysis.plans.plan_row import TODAY, PlanRow
from reports.analysis.plans.results import PlanResults
from reports.analysis.text import printable
from simulator.plurals import counted

_BY_TITLE: Final = {column.title: column for column in COLUMNS}
_VIOLATIONS: Final = _BY_TITLE["Rule violations"]
_REPLICAS, _LEADERS = _BY_TITLE["Replicas"], _BY_TITLE["Leaders"]
_MOVED, _COPIED, _CHANGED = _BY_TITLE["Replicas moved"], _BY_TITLE["Bytes copied"], _BY_TITLE["Leaders changed"]
_FAILURES: Final = (
    _BY_TITLE["Leader imbalance after rack failure"],
    _BY_TITLE["Leader imbalance after broker failure"],
)
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class PlanHeadlineRow:
    """The headline figures of a plan.

    Attributes:
        strategy: name of the strategy, or TODAY.
        violations: number of violated rules.
        cells: per title, the cell and whether it is the lowest of the shown plans.
    """

    strategy: str
    violations: int
    cells: tuple[tuple[Cell, bool], ...]


@dataclass(frozen=True, slots=True)
class PlanConclusion:
    """What a comparison of plans shows.

    Attributes:
        question: what was planned.
        chosen: the recommended plan; empty if no plan changes anything.
        sentences: the recommendation, in at most two sentences.
        findings: further sentences.
        titles: titles of the headline figures.
        rows: the current cluster, the recommended plan, and the other plans that no plan dominates.
        dominated: the other plans.
        cost: the figure that measures the copying.
        balance: the figure that measures the balance.
    """

    question: str
    chosen: str
    sentences: tuple[str, ...]
    findings: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[PlanHeadlineRow, ...]
    dominated: tuple[str, ...]
    cost: PlanColumn
    balance: PlanColumn


def conclude_plans(results: PlanResults) -> PlanConclusion:
    """Compare the plans of a folder.

    Guarantees:
        Among the plans with the fewest rule violations, the recommended one has the most even replicas (leaders, if no
        plan evens out replicas). Ties are broken by the least copying, then by the fewest changed leaders.

    Returns:
        The question, the recommendation, and the headline figures.
    """
    today, *others = (row for row in results.rows if row.has_plan)
    known = [row for row in others if row.strategy != TODAY]
    cost = _COPIED if any(_COPIED.value(row) is not None for row in known) else _MOVED
    replicas_change = any(_value(_REPLICAS, row) < _value(_REPLICAS, today) for row in known)
    balance = _REPLICAS if replicas_change else _LEADERS
    columns = [_REPLICAS, _LEADERS, cost, *_known_failures(known)]
    shown, dominated = _split(known, columns)
    chosen = min(known, key=lambda row: _rank(row, balance, cost), default=None)
    has_changes = chosen is not None and _value(balance, chosen) < _value(balance, today)
    sentences = _sentences(today, known, chosen, balance, cost) if chosen is not None and has_changes else ()
    if known and not sentences:
        sentences = (f"No plan makes the cluster more even than it is ({_figure(balance, today)}).",)
    return PlanConclusion(
        question=_question(results),
        chosen=chosen.strategy if chosen is not None and has_changes else "",
        sentences=sentences,
        findings=tuple(_findings(results, known)),
        titles=tuple(column.full_title for column in columns),
        rows=tuple(_headline_rows(today, sorted(shown, key=lambda row: row is not chosen), columns)),
        dominated=tuple(row.strategy for row in dominated),
        cost=cost,
        balance=balance,
    )


def _rank(row: PlanRow, balance: PlanColumn, cost: PlanColumn) -> tuple[float, ...]:
    return tuple(_value(column, row) for column in (_VIOLATIONS, balance, cost, _MOVED, _CHANGED))


def _value(column: PlanColumn, row: PlanRow) -> float:
    value = column.value(row)
    return inf if value is None else float(value)


def _known_failures(rows: Sequence[PlanRow]) -> list[PlanColumn]:
    """Return the failure figure to show: of racks, or of brokers in a cluster without racks."""
    return [column for column in _FAILURES if any(column.value(row) is not None for row in rows)][:1]


def _split(rows: Sequence[PlanRow], columns: Sequence[PlanColumn]) -> tuple[list[PlanRow], list[PlanRow]]:
    """Return the plans that no other plan dominates in violations and the columns, and the dominated ones."""
    if not rows:
        return [], []
    values = np.array([[_value(column, row) for column in (_VIOLATIONS, *columns)] for row in rows])
    on_front = dominators(values) == NOT_DOMINATED
    return (
        [row for row, is_shown in zip(rows, on_front, strict=True) if is_shown],
        [row for row, is_shown in zip(rows, on_front, strict=True) if not is_shown],
    )


def _question(results: PlanResults) -> str:
    size = results.title.partition(": ")[2] if results.title.startswith(f"{results.source}: ") else results.title
    requested = str(results.manifest.get("asked") or "")
    return f"Where should the replicas go ({size})?" + (f" Requested: {requested}." if requested else "")


def _sentences(
    today: PlanRow, rows: Sequence[PlanRow], chosen: PlanRow, balance: PlanColumn, cost: PlanColumn
) -> tuple[str, ...]:
    """Return why a plan is recommended, and what it costs."""
    violations = _value(_VIOLATIONS, chosen)
    allowed = [row for row in rows if _value(_VIOLATIONS, row) == violations]
    equal = [row for row in allowed if _value(balance, row) == _value(balance, chosen)]
    what = "replicas" if balance is _REPLICAS else "preferred leaders"
    effect = f"from {_text(balance, today)} to {_text(balance, chosen)} {what}"
    rule = "violates no rule" if not violations else f"violates {counted(int(violations), 'rule')}"
    first = f"{printable(chosen.strategy)} lowers the difference between brokers {effect}, and {rule}."
    changes = _changes(chosen, cost)
    if len(equal) > 1:
        return first, f"Of the {len(equal)} plans that do so, it copies the least: it {changes}."
    return first, f"It {changes}."


def _changes(row: PlanRow, cost: PlanColumn) -> str:
    """Return what a plan changes, as predicate of a sentence."""
    moved, changed = _value(_MOVED, row), _value(_CHANGED, row)
    parts = []
    if moved and moved != inf:
        size = f" ({_text(cost, row)})" if cost is _COPIED else ""
        parts.append(f"copies {counted(int(moved), 'replica')}{size}")
    if changed and changed != inf:
        parts.append(f"changes the preferred leader of {counted(int(changed), 'partition')}")
    return " and ".join(parts) if parts else "copies nothing"


def _findings(results: PlanResults, rows: Sequence[PlanRow]) -> Iterator[str]:
    """Yield the plans that violate rules, and the strategies without a plan."""
    violating = [row for row in rows if _VIOLATIONS.value(row)]
    if violating:
        named = [f"{printable(row.strategy)} ({counted(int(_value(_VIOLATIONS, row)), 'time')})" for row in violating]
        yield f"Violate rules: {_listed(named)}."
    missing = [printable(row.strategy) for row in results.rows if not row.has_plan]
    if missing:
        yield f"No plan: {_listed(missing)}; the comparison has the reasons."


def _headline_rows(today: PlanRow, rows: Sequence[PlanRow], columns: Sequence[PlanColumn]) -> Iterator[PlanHeadlineRow]:
    lowest = {}
    for column in columns:
        values = [value for row in rows if (value := column.value(row)) is not None]
        lowest[column.title] = min(values) if len(set(values)) > 1 else None
    for row in (today, *rows):
        cells = []
        for column in columns:
            value = column.value(row)
            text = _text(column, row) if value is not None else "–"
            is_lowest = row is not today and value is not None and value == lowest[column.title]
            cells.append((Cell(text, (), value), is_lowest))
        yield PlanHeadlineRow(row.strategy, int(_VIOLATIONS.value(row) or 0), tuple(cells))


def _text(column: PlanColumn, row: PlanRow) -> str:
    return column.cell(row)[0]


def _figure(column: PlanColumn, row: PlanRow) -> str:
    return f"{column.full_title}: {_text(column, row)}"


def _listed(texts: Sequence[str]) -> str:
    """Return `a, b and c`, or `a, b, c and 2 more`."""
    if len(texts) > _MAX_NAMED:
        texts = [*texts[:_MAX_NAMED], f"{len(texts) - _MAX_NAMED} more"]
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))
