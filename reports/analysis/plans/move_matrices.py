"""Replicas moved between brokers or racks, as a matrix per strategy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.cells import HEAT_STEPS, NO_RACK, UNKNOWN, Cell, Grid
from reports.analysis.formatting import format_bytes, format_count
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.results import PlanResults

MAX_BROKERS: Final = 24
"""Maximum number of involved brokers for a matrix by broker; with more of them, it is by rack."""

MAX_RACKS: Final = 40
"""Maximum number of racks for a matrix by rack."""

MAX_PAIRS: Final = 500
"""Maximum number of pairs of brokers in a table."""

ADDITIONAL: Final = "additional"
"""Title of the row of replicas that replace no other replica."""

_WITHOUT_SOURCE: Final = {"move": ADDITIONAL, "copy": "no leader"}


@dataclass(frozen=True, slots=True)
class MoveMatrix:
    """The moves or copies of a plan.

    Attributes:
        strategy: name of the strategy.
        level: `broker` or `rack`.
        sources: titles of rows; additional replicas and replicas without a leader have a separate row.
        targets: titles of columns.
        replicas: number of replicas by row and column.
        cells: the same, formatted, with bytes as a note; empty for 0.
        heat: number of replicas relative to the maximum of all strategies, from 0 to `HEAT_STEPS`.
    """

    strategy: str
    level: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    replicas: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _MoveTotals:
    replicas: int
    bytes: int | None


_Sums = Mapping[tuple[Any, Any], _MoveTotals]


def move_matrices(results: PlanResults, kind: str) -> list[MoveMatrix]:
    """Return a matrix for each strategy with moves, with the involved brokers or racks.

    `kind`: kind in the table `moves`: `move` or `copy`. The result is empty if too many brokers are involved and
    matrices by rack are not possible either.
    """
    rows = [row for row in results.tables["moves"].to_pylist() if row["kind"] == kind]
    racks = _racks(results)
    involved = {row[end] for row in rows for end in ("source", "target")} - {None}
    by_broker = len(involved) <= MAX_BROKERS
    if not by_broker and not 1 < len(set(racks.values())) <= MAX_RACKS:
        return []
    name = (lambda broker: broker) if by_broker else racks.get
    sums = {
        strategy: _summed(strategy_sums, name)
        for strategy, strategy_sums in _by_strategy(rows, results.planned).items()
    }
    maximum = max((totals.replicas for strategy_sums in sums.values() for totals in strategy_sums.values()), default=1)
    level = "broker" if by_broker else "rack"
    return [
        _matrix(strategy, level, kind, strategy_sums, maximum)
        for strategy, strategy_sums in sums.items()
        if strategy_sums
    ]


def pair_grid(results: PlanResults, strategy: str) -> Grid:
    """Return the pairs of brokers with the most moved replicas, and the copies between them."""
    sums: dict[tuple[Any, Any], dict[str, _MoveTotals]] = {}
    for row in results.tables["moves"].to_pylist():
        if row["strategy"] == strategy:
            pair = row["source"], row["target"]
            sums.setdefault(pair, {})[row["kind"]] = _MoveTotals(row["replicas"], row["bytes"])
    order = sorted(sums, key=lambda pair: (-_replicas(sums[pair].get("move")), -_replicas(sums[pair].get("copy"))))
    lines = tuple((_pair_name(pair), tuple(_pair_cells(sums[pair]))) for pair in order[:MAX_PAIRS])
    return Grid(("Replicas moved", "Bytes moved", "Replicas copied", "Bytes copied"), lines)


def _replicas(total: _MoveTotals | None) -> int:
    return 0 if total is None else total.replicas


def _pair_name(pair: tuple[Any, Any]) -> str:
    return f"{'–' if pair[0] is None else pair[0]} → {pair[1]}"


def _pair_cells(totals: Mapping[str, _MoveTotals]) -> Iterable[Cell]:
    for kind in ("move", "copy"):
        total = totals.get(kind, _MoveTotals(0, 0))
        yield Cell(format_count(total.replicas), (), total.replicas)
        yield Cell(UNKNOWN) if total.bytes is None else Cell(format_bytes(total.bytes), (), total.bytes)


def _racks(results: PlanResults) -> dict[int, str]:
    rows = results.tables["brokers"].to_pylist()
    return {row["broker"]: NO_RACK if row["rack"] is None else row["rack"] for row in rows if row["strategy"] == TODAY}


def _by_strategy(rows: Iterable[Mapping[str, Any]], planned: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    by_strategy: dict[str, list[Mapping[str, Any]]] = {strategy: [] for strategy in planned}
    for row in rows:
        by_strategy[row["strategy"]].append(row)
    return by_strategy


def _summed(rows: Iterable[Mapping[str, Any]], name: Any) -> _Sums:
    sums: dict[tuple[Any, Any], _MoveTotals] = {}
    for row in rows:
        pair = None if row["source"] is None else name(row["source"]), name(row["target"])
        before = sums.get(pair, _MoveTotals(0, 0))
        known = None if row["bytes"] is None or before.bytes is None else before.bytes + row["bytes"]
        sums[pair] = _MoveTotals(before.replicas + row["replicas"], known)
    return sums


def _matrix(strategy: str, level: str, kind: str, sums: _Sums, maximum: int) -> MoveMatrix:
    sources = _sorted(source for source, _ in sums)
    targets = _sorted(target for _, target in sums)
    totals = [[sums.get((source, target), _MoveTotals(0, 0)) for target in targets] for source in sources]
    return MoveMatrix(
        strategy=strategy,
        level=level,
        sources=tuple(_WITHOUT_SOURCE[kind] if source is None else str(source) for source in sources),
        targets=tuple(map(str, targets)),
        replicas=tuple(tuple(total.replicas for total in row) for row in totals),
        cells=tuple(tuple(map(_cell, row)) for row in totals),
        heat=tuple(tuple(math.ceil(HEAT_STEPS * total.replicas / maximum) for total in row) for row in totals),
    )


def _sorted(ends: Iterable[Any]) -> list[Any]:
    """Return the distinct brokers or racks in order; those without a rack, and None, last."""
    return sorted(set(ends), key=lambda end: (end is None, end == NO_RACK, end if end is not None else 0))


def _cell(total: _MoveTotals) -> Cell:
    if not total.replicas:
        return Cell("", (), 0)
    notes = () if total.bytes is None else (format_bytes(total.bytes),)
    return Cell(format_count(total.replicas), notes, total.replicas)
