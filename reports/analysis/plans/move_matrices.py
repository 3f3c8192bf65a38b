"""Which broker, or which rack, hands replicas to which in a plan, as a matrix per strategy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_bytes, format_count
from reports.analysis.grids import NO_RACK, Grid
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.results import PlanResults

MAX_BROKERS: Final = 24
"""With more brokers that take part, matrices are by rack."""

MAX_RACKS: Final = 40
MAX_PAIRS: Final = 500
"""How many pairs of brokers the table of pairs has per strategy at most."""

HEAT_STEPS: Final = 10
ADDITIONAL: Final = "additional"
"""The row of replicas that replace no other one."""

_NOBODY: Final = {"move": ADDITIONAL, "copy": "no leader"}


@dataclass(frozen=True, slots=True)
class MoveMatrix:
    """The moves or copies of a plan.

    Attributes:
        strategy: whose plan it is.
        level: `broker` or `rack`.
        sources: names of rows; an additional replica, or one without a leader, has a row of its own.
        targets: names of columns.
        replicas: by row and column.
        cells: the same, with bytes as a note; empty where nothing moves.
        heat: by row and column the share in the largest number of any strategy, from 0 to `HEAT_STEPS`.
    """

    strategy: str
    level: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    replicas: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Sum:
    replicas: int
    bytes: int | None


_Sums = Mapping[tuple[Any, Any], _Sum]


def matrices(results: PlanResults, kind: str) -> list[MoveMatrix]:
    """Return a matrix for each strategy that moves anything, with the rows and columns that take part.

    Args:
        results: the plans.
        kind: of the table `moves`: `move` or `copy`.
    """
    rows = [row for row in results.tables["moves"].to_pylist() if row["kind"] == kind]
    racks = _racks(results)
    taking_part = {row[end] for row in rows for end in ("source", "target")} - {None}
    by_broker = len(taking_part) <= MAX_BROKERS
    if not by_broker and not 1 < len(set(racks.values())) <= MAX_RACKS:
        return []
    name = (lambda broker: broker) if by_broker else racks.get
    sums = {strategy: _summed(of_one, name) for strategy, of_one in _by_strategy(rows, results.planned).items()}
    most = max((found.replicas for of_one in sums.values() for found in of_one.values()), default=1)
    level = "broker" if by_broker else "rack"
    return [_matrix(strategy, level, kind, of_one, most) for strategy, of_one in sums.items() if of_one]


def pair_grid(results: PlanResults, strategy: str) -> Grid:
    """Return the pairs of brokers of a plan with the most replicas moved, and what is copied between them."""
    sums: dict[tuple[Any, Any], dict[str, _Sum]] = {}
    for row in results.tables["moves"].to_pylist():
        if row["strategy"] == strategy:
            pair = row["source"], row["target"]
            sums.setdefault(pair, {})[row["kind"]] = _Sum(row["replicas"], row["bytes"])
    order = sorted(sums, key=lambda pair: (-_replicas(sums[pair].get("move")), -_replicas(sums[pair].get("copy"))))
    lines = tuple((_pair_name(pair), tuple(_pair_cells(sums[pair]))) for pair in order[:MAX_PAIRS])
    return Grid(("Replicas moved", "Bytes moved", "Replicas copied", "Bytes copied"), lines)


def _replicas(found: _Sum | None) -> int:
    return 0 if found is None else found.replicas


def _pair_name(pair: tuple[Any, Any]) -> str:
    return f"{'–' if pair[0] is None else pair[0]} → {pair[1]}"


def _pair_cells(found: Mapping[str, _Sum]) -> Iterable[Cell]:
    for kind in ("move", "copy"):
        one = found.get(kind, _Sum(0, 0))
        yield Cell(format_count(one.replicas), (), one.replicas)
        yield Cell(UNKNOWN) if one.bytes is None else Cell(format_bytes(one.bytes), (), one.bytes)


def _racks(results: PlanResults) -> dict[int, str]:
    rows = results.tables["brokers"].to_pylist()
    return {row["broker"]: NO_RACK if row["rack"] is None else row["rack"] for row in rows if row["strategy"] == TODAY}


def _by_strategy(rows: Iterable[Mapping[str, Any]], planned: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {strategy: [] for strategy in planned}
    for row in rows:
        found[row["strategy"]].append(row)
    return found


def _summed(rows: Iterable[Mapping[str, Any]], name: Any) -> _Sums:
    sums: dict[tuple[Any, Any], _Sum] = {}
    for row in rows:
        pair = None if row["source"] is None else name(row["source"]), name(row["target"])
        before = sums.get(pair, _Sum(0, 0))
        known = None if row["bytes"] is None or before.bytes is None else before.bytes + row["bytes"]
        sums[pair] = _Sum(before.replicas + row["replicas"], known)
    return sums


def _matrix(strategy: str, level: str, kind: str, sums: _Sums, most: int) -> MoveMatrix:
    sources = _sorted(source for source, _ in sums)
    targets = _sorted(target for _, target in sums)
    found = [[sums.get((source, target), _Sum(0, 0)) for target in targets] for source in sources]
    return MoveMatrix(
        strategy=strategy,
        level=level,
        sources=tuple(_NOBODY[kind] if source is None else str(source) for source in sources),
        targets=tuple(map(str, targets)),
        replicas=tuple(tuple(each.replicas for each in row) for row in found),
        cells=tuple(tuple(map(_cell, row)) for row in found),
        heat=tuple(tuple(math.ceil(HEAT_STEPS * each.replicas / most) for each in row) for row in found),
    )


def _sorted(ends: Iterable[Any]) -> list[Any]:
    """Each end once, in order; those without a rack and without a broker last."""
    return sorted(set(ends), key=lambda end: (end is None, end == NO_RACK, end if end is not None else 0))


def _cell(found: _Sum) -> Cell:
    if not found.replicas:
        return Cell("", (), 0)
    notes = () if found.bytes is None else (format_bytes(found.bytes),)
    return Cell(format_count(found.replicas), notes, found.replicas)
