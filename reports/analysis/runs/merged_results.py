"""Several result directories merged into one set of tables, so that one page compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reports.analysis.comparison import Tables


@dataclass(frozen=True, slots=True)
class ResultDirectory:
    """The content of a result directory.

    Attributes:
        name: name of the directory, for people.
        tables: tables as in `simulator.results.tables.SCHEMAS`.
    """

    name: str
    tables: Tables
    manifest: Mapping[str, Any]


def merge_results(results: Sequence[ResultDirectory]) -> tuple[dict[str, pa.Table], list[Mapping[str, Any]]]:
    """Concatenate the tables of several result directories; return the tables, and the manifest of each directory.

    If two directories hold runs of the same scenario, assignor and seed, the labels of all assignors get the name of
    their directory as a prefix. With several directories, each manifest gets its `directory`.
    """
    if len(results) == 1:
        return dict(results[0].tables), [results[0].manifest]
    needs_prefix = _have_common_runs(results)
    parts = [_with_prefix(result.tables, result.name) if needs_prefix else dict(result.tables) for result in results]
    tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    return tables, [{"directory": result.name, **result.manifest} for result in results]


def _have_common_runs(results: Iterable[ResultDirectory]) -> bool:
    seen: set[tuple[Any, ...]] = set()
    for result in results:
        keys = {(row["scenario"], row["assignor"], row["seed"]) for row in result.tables["runs"].to_pylist()}
        if keys & seen:
            return True
        seen |= keys
    return False


def _with_prefix(tables: Tables, name: str) -> dict[str, pa.Table]:
    return {key: _prefix_labels(table, f"{name}: ") for key, table in tables.items()}


def _prefix_labels(table: pa.Table, prefix: str) -> pa.Table:
    import pyarrow.compute as pc

    if "assignor" not in table.column_names:
        return table
    index = table.column_names.index("assignor")
    labels = pc.binary_join_element_wise(prefix, table["assignor"], "")
    return table.set_column(index, table.schema.field("assignor"), labels)
