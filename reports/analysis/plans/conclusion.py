"""The figures of plans, and the conclusion: the question, the recommended plan, and the headline figures.

docs/reference/plan-criteria.md has a section on each figure.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_bytes, format_count, format_duration, format_rate
from reports.analysis.pareto import NOT_DOMINATED, dominators
from reports.analysis.plans.results import TODAY, PlanResults, PlanRow
from reports.analysis.text import printable
from simulator.plurals import counted

_RULES: Final = {
    "broken_replication_factor": "factor",
    "broken_duplicate": "duplicate",
    "broken_forbidden_broker": "excluded",
    "broken_rack": "rack",
}
_EXCLUDED: Final = "broken_forbidden_broker"


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column of the table.

    Attributes:
        title: full title.
        header: short title.
        criterion: the criterion that it belongs to.
        cell: returns the value of a row and the note below it; either may be empty.
        figures: keys of the metrics whose sum is the value.
        meaning: definition, in one sentence.
        below: title of the note in terminals; empty without notes.
    """

    title: str
    header: str
    criterion: str
    cell: Callable[[PlanRow], tuple[str, str]]
    figures: tuple[str, ...]
    meaning: str
    below: str = ""

    @property
    def full_title(self) -> str:
        """Title, and how the value is computed if the title does not say so."""
        return f"{self.title} per broker (max − min)" if self.header.endswith("max−min") else self.title

    def value(self, row: PlanRow) -> float | None:
        """Return the value without rounding; None if it is unknown or not applicable."""
        figures = [row.figures.get(name) for name in self.figures if _counts(row, name)]
        known = [value for value in figures if value is not None]
        return sum(known) if known else None


def violations(row: PlanRow) -> float:
    """Return the number of violated rules."""
    return sum(row.figures.get(name) or 0 for name in _RULES if _counts(row, name))


def _counts(row: PlanRow, name: str) -> bool:
    """Return whether a metric counts: before a plan, replicas on excluded brokers violate no rule."""
    return not (row.strategy == TODAY and name == _EXCLUDED)


def _storage(row: PlanRow) -> tuple[str, str]:
    storage_range, cv = row.figures.get("storage_bytes_range"), row.figures.get("storage_bytes_cv")
    return _known(storage_range, format_bytes), "" if cv is None else f"cv {cv:.2f}"


def _replicas(row: PlanRow) -> tuple[str, str]:
    return _count(row, "replicas_range"), _count(row, "topic_replicas_range")


def _broken(row: PlanRow) -> tuple[str, str]:
    violated = [word for name, word in _RULES.items() if _counts(row, name) and row.figures.get(name)]
    to_move = row.figures.get(_EXCLUDED) if not _counts(row, _EXCLUDED) else None
    note = "" if row.figures.get("broken_rack") is not None else "no racks"
    if violated:
        note = violated[0] + ("…" if len(violated) > 1 else "")
    elif to_move:
        note = f"{format_count(to_move)} to move"
    return format_count(violations(row)), note


def _moved(row: PlanRow) -> tuple[str, str]:
    if row.strategy == TODAY:
        return "", ""
    bound = row.figures.get("replicas_moved_bound")
    return _count(row, "replicas_moved"), "" if bound is None else f"of {format_count(bound)}"


def _copied(row: PlanRow) -> tuple[str, str]:
    return ("", "") if row.strategy == TODAY else (_known(row.figures.get("bytes_moved"), format_bytes), "")


def _leaders(row: PlanRow) -> tuple[str, str]:
    return _count(row, "leaders_range"), _count(row, "topic_leaders_range")


def _changed(row: PlanRow) -> tuple[str, str]:
    by_order, by_copy = row.figures.get("leaders_changed_by_order"), row.figures.get("leaders_changed_by_copy")
    if by_order is None or by_copy is None:
        return "", ""
    return format_count(by_order + by_copy), f"{format_count(by_copy)} new" if by_copy else ""


def _rerun(row: PlanRow) -> tuple[str, str]:
    if row.figures.get("shuffles") is None:
        return "", ""
    leaders = row.figures.get("rerun_leaders_changed")
    return _count(row, "rerun_replicas_moved"), f"{format_count(leaders)} led" if leaders else ""


def _distinct(row: PlanRow) -> tuple[str, str]:
    shuffles = row.figures.get("shuffles")
    return ("", "") if shuffles is None else (_count(row, "distinct_plans"), f"of {format_count(shuffles)}")


def _after_failure(failed: str) -> Callable[[PlanRow], tuple[str, str]]:
    def cell(row: PlanRow) -> tuple[str, str]:
        lost = row.figures.get(f"{failed}_down_leaderless")
        return _count(row, f"{failed}_down_range"), f"{format_count(lost)} lost" if lost else ""

    return cell


COLUMNS: Final = (
    PlanColumn(
        "Storage",
        "storage max−min",
        "storage",
        _storage,
        ("storage_bytes_range",),
        "Maximum minus minimum bytes per broker; below, the coefficient of variation (cv).",
        "variation",
    ),
    PlanColumn(
        "Replicas",
        "replicas max−min",
        "storage",
        _replicas,
        ("replicas_range",),
        "Maximum minus minimum replicas per broker; below, the same within the worst topic.",
        "worst topic",
    ),
    PlanColumn(
        "Rule violations",
        "rule violations",
        "constraints",
        _broken,
        tuple(_RULES),
        "Violated rules: wrong replication factor, duplicate broker, excluded broker, too many replicas in one rack; "
        "below, the first violated rule, or the replicas on excluded brokers today, which are to move.",
        "first rule",
    ),
    PlanColumn(
        "Replicas moved",
        "replicas moved",
        "movement",
        _moved,
        ("replicas_moved",),
        "Replicas to copy to another broker; below, the minimum number of moves that balances replicas.",
        "fewest possible",
    ),
    PlanColumn(
        "Bytes copied",
        "bytes copied",
        "movement",
        _copied,
        ("bytes_moved",),
        "Total size of the moved replicas.",
    ),
    PlanColumn(
        "Leaders",
        "leaders max−min",
        "leadership",
        _leaders,
        ("leaders_range",),
        "Maximum minus minimum preferred leaders per broker; below, the same within the worst topic.",
        "worst topic",
    ),
    PlanColumn(
        "Leaders changed",
        "leaders changed",
        "movement",
        _changed,
        ("leaders_changed_by_order", "leaders_changed_by_copy"),
        "Partitions with another preferred leader; below, those that a new replica leads.",
        "to new replicas",
    ),
    PlanColumn(
        "Moves when re-run",
        "moves re-run",
        "determinism",
        _rerun,
        ("rerun_replicas_moved",),
        "Replicas moved if the strategy runs again on the cluster after its own plan; below, leaders changed.",
        "leaders changed",
    ),
    PlanColumn(
        "Different plans over shuffled input",
        "different plans",
        "determinism",
        _distinct,
        ("distinct_plans",),
        "Number of different plans for the same cluster with shuffled input; 1 means that the order has no influence.",
        "shuffled inputs",
    ),
    PlanColumn(
        "Leader imbalance after broker failure",
        "broker failure",
        "failover",
        _after_failure("broker"),
        ("broker_down_range",),
        "Maximum minus minimum leaders per broker if the worst broker fails; below, partitions without a leader.",
        "without a leader",
    ),
    PlanColumn(
        "Leader imbalance after rack failure",
        "rack failure",
        "failover",
        _after_failure("rack"),
        ("rack_down_range",),
        "Maximum minus minimum leaders per broker if the worst rack fails; below, partitions without a leader.",
        "without a leader",
    ),
)


def _count(row: PlanRow, name: str) -> str:
    return _known(row.figures.get(name), format_count)


def _known(value: float | None, write: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else write(value)


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
        sentences: the recommendation: why, what it changes, and how long that takes at least.
        findings: further sentences.
        command: the lines of the command that executes it; empty if its files were not written, or are batches.
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
    command: tuple[str, ...]
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
    sentences += _duration(results, chosen) if chosen is not None and has_changes else ()
    if known and not sentences:
        sentences = (f"No plan makes the cluster more even than it is ({_figure(balance, today)}).",)
    return PlanConclusion(
        question=_question(results),
        chosen=chosen.strategy if chosen is not None and has_changes else "",
        sentences=sentences,
        findings=tuple(_findings(results, known)),
        command=_command(results, chosen) if chosen is not None and has_changes else (),
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


def _duration(results: PlanResults, row: PlanRow) -> tuple[str, ...]:
    """Return how long copying takes at least, if the plan copies anything."""
    if not row.figures.get("replicas_moved"):
        return ()
    throttle, min_copy_ms = results.throttle_bytes_per_s, results.min_copy_ms(row.strategy)
    if throttle is None:
        return ("Without a throttle (--throttle), the time to copy is unknown.",)
    if min_copy_ms is None:
        return (f"Without sizes (--log-dirs), the time to copy at {format_rate(throttle)} per broker is unknown.",)
    return (f"At {format_rate(throttle)} per broker, it copies for at least {format_duration(min_copy_ms)}.",)


def _command(results: PlanResults, row: PlanRow) -> tuple[str, ...]:
    if row.folder is None or row.batches is not None or not row.changes:
        return ()
    throttle = results.throttle_bytes_per_s
    options = ["--reassignment-json-file", f"{row.folder}/reassignment.json"]
    options += [] if throttle is None else ["--throttle", str(throttle)]
    return "kafka-reassign-partitions.sh --bootstrap-server BROKER:9092 --execute \\", f"    {shlex.join(options)}"


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
