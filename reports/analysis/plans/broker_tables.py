"""What brokers hold before and after each plan, what moves between them, and the batches of a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.cells import HEAT_STEPS, NO_RACK, UNKNOWN, Cell, Grid
from reports.analysis.formatting import NumberFormat, format_bytes, format_count, format_duration
from reports.analysis.plans.results import TODAY, PlanResults

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
        cells=tuple(tuple(map(_matrix_cell, row)) for row in totals),
        heat=tuple(tuple(math.ceil(HEAT_STEPS * total.replicas / maximum) for total in row) for row in totals),
    )


def _sorted(ends: Iterable[Any]) -> list[Any]:
    """Return the distinct brokers or racks in order; those without a rack, and None, last."""
    return sorted(set(ends), key=lambda end: (end is None, end == NO_RACK, end if end is not None else 0))


def _matrix_cell(total: _MoveTotals) -> Cell:
    if not total.replicas:
        return Cell("", (), 0)
    notes = () if total.bytes is None else (format_bytes(total.bytes),)
    return Cell(format_count(total.replicas), notes, total.replicas)


_COLUMNS: Final[Mapping[str, tuple[str, NumberFormat]]] = {
    "partitions": ("Partitions", format_count),
    "replicas": ("Replicas to copy", format_count),
    "bytes": ("Bytes to copy", format_bytes),
    "elections": ("Elections", format_count),
    "min_copy_ms": ("Minimum time", format_duration),
}


def batch_grid(results: PlanResults, strategy: str) -> Grid:
    """Return one line per batch of a plan; without the column of minimum times if no batch has one."""
    rows = [row for row in results.tables["batches"].to_pylist() if row["strategy"] == strategy]
    columns = [name for name in _COLUMNS if name != "min_copy_ms" or any(row[name] is not None for row in rows)]
    lines = tuple((str(row["batch"]), tuple(_cell(row[name], _COLUMNS[name][1]) for name in columns)) for row in rows)
    return Grid(tuple(_COLUMNS[name][0] for name in columns), lines)


def _cell(value: Any, write: Callable[[float], str]) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)


LEVELS: Final = ("broker", "rack")


@dataclass(frozen=True, slots=True)
class LoadMeasure:
    """A measure of the load of a broker.

    Attributes:
        name: column of the table `brokers`.
        title: title of the measure.
        write: formats a value.
    """

    name: str
    title: str
    write: NumberFormat


MEASURES: Final = (
    LoadMeasure("leaders", "Leaders", format_count),
    LoadMeasure("replicas", "Replicas", format_count),
    LoadMeasure("bytes", "Bytes", format_bytes),
)


@dataclass(frozen=True, slots=True)
class LoadDistribution:
    """A measure by broker or by rack.

    Attributes:
        names: broker ids, sorted by rack, or names of racks.
        groups: rack of each broker; empty if no broker has one, or if the level is rack.
        may_hold: whether plans may place replicas there, by name.
        before: current values.
        after: values after each plan, by strategy.
    """

    measure: LoadMeasure
    level: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    may_hold: tuple[bool, ...]
    before: tuple[float, ...]
    after: Mapping[str, tuple[float, ...]]

    @property
    def title(self) -> str:
        """Title of the measure and the level."""
        return f"{self.measure.title} per {self.level}"

    def balanced_value(self, strategy: str) -> float:
        """Return the value that each broker or rack that may hold replicas would have if all were equal."""
        return sum(self.after[strategy]) / max(1, sum(self.may_hold))


def load_distributions(results: PlanResults) -> list[LoadDistribution]:
    """Return each known measure by broker and, with at least two racks, by rack."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in results.tables["brokers"].to_pylist():
        rows.setdefault(row["strategy"], []).append(row)
    levels = LEVELS if len({row["rack"] for row in rows[TODAY]} - {None}) > 1 else LEVELS[:1]
    known = [measure for measure in MEASURES if all(row[measure.name] is not None for row in rows[TODAY])]
    return [_distribution(measure, level, rows, results.planned) for measure in known for level in levels]


def load_grid(load: LoadDistribution) -> Grid:
    """Return the values as a table: one line per broker or rack, one column per strategy, current values first."""
    columns = [load.before, *load.after.values()]
    lines = tuple(
        (
            _line_name(load, index),
            tuple(Cell(load.measure.write(column[index]), (), column[index]) for column in columns),
        )
        for index in range(len(load.names))
    )
    return Grid((TODAY, *load.after), lines)


def disk_usage_grid(results: PlanResults) -> Grid | None:
    """Return the used share of each broker's disks; None if a size or all capacities are unknown."""
    rows = results.tables["brokers"].to_pylist()
    if any(row["bytes"] is None for row in rows) or all(row["capacity_bytes"] is None for row in rows):
        return None
    cells_by_broker: dict[int, dict[str, Cell]] = {}
    for row in rows:
        cells_by_broker.setdefault(row["broker"], {})[row["strategy"]] = _disk_usage(row)
    columns = (TODAY, *results.planned)
    return Grid(
        columns, tuple((str(id), tuple(cells[name] for name in columns)) for id, cells in cells_by_broker.items())
    )


def _disk_usage(row: Mapping[str, Any]) -> Cell:
    if row["capacity_bytes"] is None:
        return Cell(UNKNOWN)
    percent = 100 * row["bytes"] / row["capacity_bytes"]
    return Cell(f"{percent:.0f} %", (f"of {format_bytes(row['capacity_bytes'])}",), percent)


def _line_name(load: LoadDistribution, index: int) -> str:
    return f"{load.names[index]} ({load.groups[index]})" if load.groups else load.names[index]


def _distribution(
    measure: LoadMeasure, level: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], planned: Sequence[str]
) -> LoadDistribution:
    brokers = sorted(rows[TODAY], key=lambda row: (row["rack"] is None, row["rack"] or "", row["broker"]))
    ids = [row["broker"] for row in brokers]
    racks = [NO_RACK if row["rack"] is None else row["rack"] for row in brokers]
    may_hold = [row["may_hold"] for row in brokers]
    values = {name: _in_order(rows[name], ids, measure.name) for name in (TODAY, *planned)}
    if level == "rack":
        names = list(dict.fromkeys(racks))
        rack_may_hold = [any(may for may, rack in zip(may_hold, racks, strict=True) if rack == name) for name in names]
        summed = {key: _by_rack(broker_values, racks, names) for key, broker_values in values.items()}
        before = summed.pop(TODAY)
        return LoadDistribution(measure, level, tuple(names), (), tuple(rack_may_hold), before, summed)
    before = values.pop(TODAY)
    groups = tuple(racks) if set(racks) != {NO_RACK} else ()
    return LoadDistribution(measure, level, tuple(map(str, ids)), groups, tuple(may_hold), before, values)


def _in_order(rows: Sequence[Mapping[str, Any]], ids: Sequence[int], column: str) -> tuple[float, ...]:
    by_id = {row["broker"]: row[column] for row in rows}
    return tuple(by_id[id] for id in ids)


def _by_rack(values: Sequence[float], racks: Sequence[str], names: Sequence[str]) -> tuple[float, ...]:
    sums = dict.fromkeys(names, 0.0)
    for value, rack in zip(values, racks, strict=True):
        sums[rack] += value
    return tuple(sums.values())
