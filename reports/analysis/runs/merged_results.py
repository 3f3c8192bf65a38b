"""Several directories of results as one set of tables, so that one page compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reports.analysis.comparison import TableError, Tables

REQUIRED_TABLES = (
    "runs",
    "rounds",
    "tasks",
    "clients",
    "assignments",
    "moves",
    "reasons",
    "cycles",
    "lives",
    "traffic",
    "events",
    "convergence",
)
"""The tables that a page is made of."""


@dataclass(frozen=True, slots=True)
class ResultDirectory:
    """What a directory of results holds.

    Attributes:
        name: what people call it.
        tables: as in `simulator.results.tables.SCHEMAS`.
        manifest: how they came about.
    """

    name: str
    tables: Tables
    manifest: Mapping[str, Any]


def merge_results(results: Sequence[ResultDirectory]) -> tuple[dict[str, pa.Table], list[Mapping[str, Any]]]:
    """Put the tables one below the other.

    If two directories hold runs of the same scenario, assignor and seed, the labels of all assignors begin with the
    name of their directory. Of several directories each manifest says which it is from (`directory`).

    Raises:
        TableError: a directory lacks a table that a page needs; says which.
    """
    for each in results:
        for name in REQUIRED_TABLES:
            if name not in each.tables:
                raise TableError(f"{each.name}: the table {name!r} is missing; run it again with this version")
    if len(results) == 1:
        return dict(results[0].tables), [results[0].manifest]
    told_apart = _clash(results)
    parts = [_relabelled(each.tables, each.name) if told_apart else dict(each.tables) for each in results]
    names = [name for name in parts[0] if all(name in part for part in parts)]
    tables = {name: pa.concat_tables([part[name] for part in parts], promote_options="default") for name in names}
    return tables, [{"directory": each.name, **each.manifest} for each in results]


def _clash(results: Iterable[ResultDirectory]) -> bool:
    seen: set[tuple[Any, ...]] = set()
    for each in results:
        keys = {(row["scenario"], row["assignor"], row["seed"]) for row in each.tables["runs"].to_pylist()}
        if keys & seen:
            return True
        seen |= keys
    return False


def _relabelled(tables: Tables, name: str) -> dict[str, pa.Table]:
    return {key: _with_prefix(table, f"{name}: ") for key, table in tables.items()}


def _with_prefix(table: pa.Table, prefix: str) -> pa.Table:
    import pyarrow.compute as pc

    if "assignor" not in table.column_names:
        return table
    place = table.column_names.index("assignor")
    labels = pc.binary_join_element_wise(prefix, table["assignor"], "")
    return table.set_column(place, table.schema.field("assignor"), labels)
