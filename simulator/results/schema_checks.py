"""Stored tables and JSON documents of unknown origin: read with limits, and compared with what is declared.

An Arrow schema, `TableRules` and `Reference` declare a table, a pydantic model declares a document. Arrow is imported
only for tables, since assignment problems are documents, too.
"""

from __future__ import annotations

import errno
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from simulator.results.files import open_regular

if TYPE_CHECKING:
    import pyarrow as pa

MAX_INTEGER: Final = 2**53
"""Largest time or number that readers convert to a float without loss."""

MAX_FLOAT: Final = 1e100
"""Largest number that readers subtract, divide and square without overflow."""

MAX_ROWS: Final = 50_000_000
"""Largest number of rows of a table; a small file can claim any number."""

MAX_DEPTH: Final = 50
"""Maximum nesting of lists and objects in JSON."""

_MAX_FILE_BYTES: Final = 4_000_000_000
_MAX_JSON_INTEGER: Final = 2**64
_MAX_MISTAKES: Final = 5
_SHOWN: Final = 60

Model = TypeVar("Model", bound=BaseModel)


class SchemaError(ValueError):
    """A table or document is not as declared; the message says where, and what would be right.

    It names the file of a table, and the path in a document, whose reader adds the file.
    """


class StoredRecord(BaseModel):
    """A part of a document that this project has stored; further keys are for people."""

    model_config = ConfigDict(strict=True, extra="allow")


def read_json(text: str) -> Any:
    """Parse a JSON document.

    Returns its value. All texts in it can be encoded, and all numbers are finite. Raises SchemaError if the text is not
    JSON, is nested more than `MAX_DEPTH` deep, or has a value that JSON does not have.
    """
    try:
        document = json.loads(text)
    except RecursionError:
        raise SchemaError(f"lists and objects are nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise SchemaError(f"not JSON: {error}") from None
    pending: list[tuple[Any, tuple[int | str, ...]]] = [(document, ())]
    while pending:
        value, path = pending.pop()
        if len(path) > MAX_DEPTH:
            raise SchemaError(f"{_path_text(path[:3])}…: lists and objects are nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            pending += [(key, path) for key in value]
        if isinstance(value, dict | list):
            items: Iterable[tuple[int | str, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
            pending += [(inner, (*path, key)) for key, inner in items]
        elif problem := _value_problem(value):
            raise SchemaError(f"{_path_text(path)}: {problem}".removeprefix(": "))
    return document


def _value_problem(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number in JSON"
    if isinstance(value, int) and abs(value) > _MAX_JSON_INTEGER:
        return "a number of very many digits"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "has half of a surrogate pair, which is not a character"
    return None


def check_record(model: type[Model], value: Any) -> Model:
    """Return a JSON value as a pydantic model.

    Raises SchemaError if the value does not conform to the model; the message has the path of each mistake.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = error.errors()[:_MAX_MISTAKES]
        mistakes = [
            f"{_path_text(detail['loc'])}: {detail['msg'][:1].lower()}{detail['msg'][1:]}" for detail in details
        ]
        raise SchemaError("; ".join(mistakes).removeprefix(": ")) from None


def check_kind(document: Any, kind: str | None, title: str) -> None:
    """Check that a document is a manifest of a kind.

    `kind`: its kind; None for runs, whose manifest has none. Raises SchemaError if it is not; the message says of which
    kind it is.
    """
    if not isinstance(document, dict):
        raise SchemaError("expected an object")
    found = document.get("kind")
    if found != kind:
        named = f"'{found}'" if isinstance(found, str) else "runs" if found is None else "another kind"
        raise SchemaError(f"kind: holds {named}, expected {title}")


def _path_text(path: tuple[int | str, ...]) -> str:
    """Return a path in a document as text, such as `assignors[0].label`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_shown_key(part)}" for part in path)
    return "".join(parts).removeprefix(".")


def _shown_key(key: str) -> str:
    return key.encode("unicode_escape").decode()[:_SHOWN]


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
    """

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file, or the files of a table that Spark has written.

    Returns the table; all columns have the same length, and all texts are valid UTF-8. Raises SchemaError if the file
    is not such a table, and FileNotFoundError if the file does not exist.
    """
    import pyarrow as pa

    try:
        table = pa.concat_tables([read_parquet(file) for file in _files_of(path)])
        table.validate(full=True)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, NotImplementedError, OverflowError, pa.ArrowException) as error:
        lines = str(getattr(error, "strerror", None) or error).splitlines() or [type(error).__name__]
        raise SchemaError(f"{path}: cannot be read as Parquet: {ascii(lines[0])[1:-1][:200]}") from None
    if len(set(table.column_names)) < table.num_columns:
        raise SchemaError(f"{path}: two columns have the same name")
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
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    missing. Raises SchemaError if a column is missing, or has another type, an invalid null or an invalid value.
    """
    import pyarrow.compute as pc

    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise SchemaError(f"{path}: column '{missing[0]}' is missing; {remedy}")
    for declared in schema:
        name, column = declared.name, table[declared.name]
        if column.type != declared.type:
            raise SchemaError(f"{path}: column '{name}' has type {column.type}, expected {declared.type}")
        if column.null_count and name not in rules.nullable:
            row = pc.index(pc.is_null(column), True).as_py()
            raise SchemaError(f"{path}: column '{name}', row {row}: null, expected a value")
        is_valid, expected = _valid_values(name, column, rules)
        row = -1 if is_valid is None else pc.index(is_valid, False).as_py()
        if row >= 0:
            value = ascii(column[row].as_py())[:_SHOWN]
            raise SchemaError(f"{path}: column '{name}', row {row}: {value}, expected {expected}")
    return table.select(schema.names)


def _valid_values(name: str, column: pa.ChunkedArray, rules: TableRules) -> tuple[pa.ChunkedArray | None, str]:
    """Return which values of a column are valid, None if all are, and what a valid one is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return pc.less_equal(pc.abs(column), MAX_FLOAT), f"a number from {-MAX_FLOAT:g} to {MAX_FLOAT:g}"
    if pa.types.is_integer(column.type):
        least = -MAX_INTEGER if name in rules.signed else 0
        is_valid = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, MAX_INTEGER))
        return is_valid, f"a number from {least} to {MAX_INTEGER}"
    if name in rules.values:
        known = sorted(rules.values[name])
        return pc.is_in(column, pa.array([*known, None], pa.string())), f"one of {', '.join(known)}"
    return None, ""


def check_relations(
    path_of: Callable[[str], Path],
    tables: Mapping[str, pa.Table],
    rules: Mapping[str, TableRules],
    references: Iterable[Reference],
) -> None:
    """Check that keys are unique, and that the values of columns occur where readers look them up.

    `path_of`: the file of each table, for messages; `references`: which columns refer to which others. Raises
    SchemaError if a key repeats, or a value does not occur in the other table.
    """
    for name, table in tables.items():
        key = rules[name].key if name in rules else ()
        if key and len(_distinct(table, key)) < table.num_rows:
            counts = Counter(zip(*(table[column].to_pylist() for column in key), strict=True))
            repeated = next(values for values, count in counts.items() if count > 1)
            raise SchemaError(f"{path_of(name)}: {_described(key, repeated)} has two rows, expected one")
    known: dict[tuple[str, tuple[str, ...]], set[tuple[Any, ...]]] = {}
    for reference in references:
        target = reference.target, reference.target_columns
        if target not in known:
            known[target] = _distinct(tables[reference.target], reference.target_columns)
        unknown = _distinct(tables[reference.table], reference.columns) - known[target]
        referring = [values for values in unknown if values[-1] is not None]
        if referring:
            described = _described(reference.columns, min(referring, key=repr))
            raise SchemaError(f"{path_of(reference.table)}: {described} is not in {path_of(reference.target).name}")


def _distinct(table: pa.Table, columns: Sequence[str]) -> set[tuple[Any, ...]]:
    rows = table.select(list(columns)).group_by(list(columns), use_threads=False).aggregate([])
    return set(zip(*(rows[name].to_pylist() for name in columns), strict=True))


def _described(columns: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {ascii(value)[:_SHOWN]}" for name, value in zip(columns, values, strict=True))
