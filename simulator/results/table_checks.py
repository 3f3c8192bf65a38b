"""Checks of stored tables: Parquet, schema, values, and the relations between rows that readers rely on."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator.results.regular_files import open_regular

MAX_INTEGER: Final = 2**53
"""Largest time or number that readers convert to a float without loss."""

MAX_FLOAT: Final = 1e100
"""Largest number that readers subtract, divide and square without overflow."""

MAX_ROWS: Final = 50_000_000
"""Largest number of rows of a table; a small file can claim any number."""

_MAX_FILE_BYTES: Final = 4_000_000_000
_SHOWN: Final = 60


class TableMistake(ValueError):  # noqa: N818 - a mistake of a file, which `read_results` reports
    """A table that is not as its schema says; the message names file, column and what would be right."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a stored table must satisfy beyond the types of its columns.

    Attributes:
        nullable: columns that may have nulls.
        values: the valid values of text columns.
        signed: columns of times and numbers that may be negative.
        key: columns that identify a row; empty if rows may repeat.
    """

    nullable: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    signed: frozenset[str] = frozenset()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """Columns of a table whose values must occur in columns of another table.

    Attributes:
        columns: its columns; rows with a null in the last of them are exempt.
        target: the other table.
        target_columns: the columns there.
    """

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file, or the files of a table that Spark has written.

    Returns the table; all columns have the same length, and all texts are valid UTF-8. Raises TableMistake if the file
    is not such a table, and FileNotFoundError if the file does not exist.
    """
    try:
        table = pa.concat_tables([read_parquet(file) for file in _files_of(path)])
        table.validate(full=True)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, NotImplementedError, OverflowError, pa.ArrowException) as error:
        raise TableMistake(f"{path}: cannot be read as Parquet: {_first_line(error)}") from None
    if len(set(table.column_names)) < table.num_columns:
        raise TableMistake(f"{path}: two columns have the same name")
    return table


def _files_of(path: Path) -> list[Path]:
    """Return the files of a table; Spark names other files with a leading underscore or dot.

    Raises FileNotFoundError if a directory has no file of the table.
    """
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if not file.name.startswith(("_", ".")))
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no Parquet file in it", str(path))
    return files


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one Parquet file.

    `columns`: the columns to read, if they exist; by default all. Raises OSError if the file cannot be read, or is not
    a regular file; ValueError if it has more than `MAX_ROWS` rows; and pa.ArrowException if it is not Parquet.
    """
    with open_regular(path, _MAX_FILE_BYTES) as file:  # Arrow cannot open every path; see `write_results`.
        metadata = pq.read_metadata(file)
        groups = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        if (rows := max(metadata.num_rows, sum(groups))) > MAX_ROWS:
            raise ValueError(f"{rows:,} rows, more than the maximum of {MAX_ROWS:,}")
        file.seek(0)
        # Arrow starts threads to read columns or files. If the process exits while one of them ends, as after an error
        # in a later table, it aborts.
        content = pa.BufferReader(file.read())
    return pq.ParquetFile(content).read(columns=None if columns is None else list(columns), use_threads=False)


def check_schema(path: Path, table: pa.Table, schema: pa.Schema, rules: TableRules, remedy: str) -> pa.Table:
    """Return the columns of a table that its schema names.

    `path`: its file, for messages; `rules`: nulls and values of the columns; `remedy`: what to do if a column is
    missing. Raises TableMistake if a column is missing, or has another type, an invalid null or an invalid value.
    """
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise TableMistake(f"{path}: column '{missing[0]}' is missing; {remedy}")
    for column_field in schema:
        column = table[column_field.name]
        if column.type != column_field.type:
            raise TableMistake(
                f"{path}: column '{column_field.name}' has type {column.type}, expected {column_field.type}"
            )
        if column.null_count and column_field.name not in rules.nullable:
            row = pc.index(pc.is_null(column), True).as_py()
            raise TableMistake(f"{path}: column '{column_field.name}', row {row}: null, expected a value")
        _check_values(path, column_field, column, rules)
    return table.select(schema.names)


def _check_values(path: Path, column_field: pa.Field, column: pa.ChunkedArray, rules: TableRules) -> None:
    if pa.types.is_floating(column_field.type):
        is_valid = pc.less_equal(pc.abs(column), MAX_FLOAT)
        _check_all(path, column_field.name, column, is_valid, f"a number from {-MAX_FLOAT:g} to {MAX_FLOAT:g}")
    elif pa.types.is_integer(column_field.type):
        least = -MAX_INTEGER if column_field.name in rules.signed else 0
        is_valid = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, MAX_INTEGER))
        _check_all(path, column_field.name, column, is_valid, f"a number from {least} to {MAX_INTEGER}")
    elif column_field.name in rules.values:
        known = rules.values[column_field.name]
        is_valid = pc.is_in(column, pa.array([*sorted(known), None], pa.string()))
        _check_all(path, column_field.name, column, is_valid, f"one of {', '.join(sorted(known))}")


def _check_all(path: Path, name: str, column: pa.ChunkedArray, is_valid: pa.ChunkedArray, expected: str) -> None:
    row = pc.index(is_valid, False).as_py()
    if row >= 0:
        value = ascii(column[row].as_py())[:_SHOWN]
        raise TableMistake(f"{path}: column '{name}', row {row}: {value}, expected {expected}")


def check_relations(
    path_of: Callable[[str], Path],
    tables: Mapping[str, pa.Table],
    rules: Mapping[str, TableRules],
    references: Iterable[Reference],
) -> None:
    """Check that keys are unique, and that the values of columns occur where readers look them up.

    `path_of`: the file of each table, for messages. `references`: which columns refer to which others; those of missing
    tables are skipped. Raises TableMistake if a key repeats, or a value does not occur in the other table.
    """
    for name, table in tables.items():
        key = rules[name].key if name in rules else ()
        if key and len(_distinct(table, key)) < table.num_rows:
            raise TableMistake(f"{path_of(name)}: {_repeated(table, key)} has two rows, expected one")
    known: dict[tuple[str, tuple[str, ...]], set[tuple[Any, ...]]] = {}
    for reference in references:
        if reference.table not in tables or reference.target not in tables:
            continue
        target = reference.target, reference.target_columns
        if target not in known:
            known[target] = _distinct(tables[reference.target], reference.target_columns)
        unknown = _distinct(tables[reference.table], reference.columns) - known[target]
        referring = [values for values in unknown if values[-1] is not None]
        if referring:
            described = _described(reference.columns, min(referring, key=repr))
            raise TableMistake(f"{path_of(reference.table)}: {described} is not in {path_of(reference.target).name}")


def _distinct(table: pa.Table, columns: Sequence[str]) -> set[tuple[Any, ...]]:
    rows = table.select(list(columns)).group_by(list(columns), use_threads=False).aggregate([])
    return set(zip(*(rows[name].to_pylist() for name in columns), strict=True))


def _repeated(table: pa.Table, key: Sequence[str]) -> str:
    counts = table.select(list(key)).group_by(list(key), use_threads=False).aggregate([([], "count_all")])
    row = counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1).to_pylist()[0]
    return _described(key, [row[name] for name in key])


def _described(columns: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(_pairs(columns, values))


def _pairs(columns: Sequence[str], values: Sequence[Any]) -> Iterator[str]:
    for name, value in zip(columns, values, strict=True):
        yield f"{name} {ascii(value)[:_SHOWN]}"


def _first_line(error: Exception) -> str:
    lines = str(getattr(error, "strerror", None) or error).splitlines() or [type(error).__name__]
    return ascii(lines[0])[1:-1][:200]
