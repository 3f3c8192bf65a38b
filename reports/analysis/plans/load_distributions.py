"""The load of brokers and racks before and after each plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.cells import NO_RACK, UNKNOWN, Cell, Grid
from reports.analysis.formatting import NumberFormat, format_bytes, format_count
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.results import PlanResults

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
