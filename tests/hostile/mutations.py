"""Random changes of valid input: of bytes, texts, JSON documents and Parquet tables."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HOSTILE_TEXTS = (
    "",
    " ",
    "-",
    "-1",
    "nan",
    "1e999",
    "9" * 30,
    "٣",
    "²",
    "\x1b[31m",
    "\x00",
    "\u202e",
    "../../etc/passwd",
    "<script>",
    "[/red]",
    "=1+1",
    "a" * 5_000,
    "0_0",
    "GROUP",
    "true",
)
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    2**63,
    10**40,
    0.5,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"": None},
    *HOSTILE_TEXTS,
)
_INSERTED = '0123456789 \t\n:,()[]{}"_->abTopic#;=\x1b\x00é'


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes truncated, with a part overwritten, doubled or removed."""
    start, length = rng.randrange(len(content) + 1), rng.choice((1, 4, 30, 1000))
    match rng.randrange(4):
        case 0:
            return content[:start]
        case 1:
            return content[:start] + rng.randbytes(length) + content[start + length :]
        case 2:
            return content[: start + length] + content[start:]
        case _:
            return content[:start] + content[start + length :]


def damaged_text(rng: random.Random, text: str) -> str:
    """Return the text with one to three words, lines or characters replaced, removed, doubled or swapped."""
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(5):
            case 0:
                start, length = rng.randrange(len(text) + 1), rng.choice((0, 1, 5, 30))
                inserted = "".join(rng.choices(_INSERTED, k=rng.randrange(6)))
                text = text[:start] + inserted + text[start + length :]
            case 1:
                lines = text.split("\n")
                first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[first], lines[second] = lines[second], lines[first]
                text = "\n".join(lines)
            case 2:
                lines = text.split("\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                text = "\n".join(lines)
            case 3:
                lines = text.split("\n")
                del lines[rng.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                words = text.split(" ")
                words[rng.randrange(len(words))] = rng.choice((*HOSTILE_TEXTS, *words[:50]))
                text = " ".join(words)
    return text


def changed_document(rng: random.Random, document: Any) -> Any:
    """Return the JSON document with one to three values replaced, removed, renamed or copied from elsewhere in it."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        places = list(value_places(document))
        if not places:
            break
        parent, key = rng.choice(places)
        match rng.randrange(5):
            case 0:
                del parent[key]
            case 1:
                other, other_key = rng.choice(places)
                parent[key] = copy.deepcopy(other[other_key])
            case 2 if isinstance(parent, dict):
                parent[rng.choice(HOSTILE_TEXTS)] = parent.pop(key)
            case _:
                parent[key] = copy.deepcopy(rng.choice(HOSTILE_VALUES))
    return document


def changed_json(rng: random.Random, text: str) -> str:
    """Return the text of a JSON document with changed values, damaged characters, or nested deeply."""
    match rng.randrange(8):
        case 0:
            return damaged_text(rng, text)
        case 1:
            depth = rng.choice((100, 1_000, 100_000))
            position = text.find(":", rng.randrange(len(text))) + 1
            return text[:position] + "[" * depth + "]" * depth + "," + text[position:]
        case 2:
            depth = rng.choice((100, 900))
            document = json.loads(text)
            parent, key = rng.choice(list(value_places(document)))
            parent[key] = json.loads('{"a":' * depth + "1" + "}" * depth)
            return json.dumps(document)
        case _:
            return json.dumps(changed_document(rng, json.loads(text)))


def change_parquet(rng: random.Random, path: Path) -> str:
    """Change a Parquet file in place: its bytes, columns, types, nulls, values or rows.

    Returns:
        What was changed.
    """
    kind = rng.choice(("bytes", "remove", "rename", "retype", "null", "value", "value", "value", "rows", "swap"))
    if kind == "bytes":
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
        return f"{path.name}: bytes"
    table = pq.read_table(path)
    index = rng.randrange(table.num_columns)
    field = table.schema.field(index)
    match kind:
        case "remove":
            table = table.remove_column(index)
        case "rename":
            other = rng.choice((*table.column_names, *HOSTILE_TEXTS))
            table = table.rename_columns([other if n == index else name for n, name in enumerate(table.column_names)])
        case "retype":
            values, type_ = _retyped(rng, table[index].to_pylist())
            table = table.set_column(index, field.name, pa.array(values, type_))
        case "null":
            values = [None if rng.random() < 0.5 else value for value in table[index].to_pylist()]
            table = table.set_column(index, field.with_nullable(True), pa.array(values, field.type))
        case "value":
            values = table[index].to_pylist()
            if values:
                values[rng.randrange(len(values))] = _hostile_value(rng, field.type, values)
            table = table.set_column(index, field, pa.array(values, field.type))
        case "rows":
            rows = [rng.randrange(table.num_rows) for _ in range(rng.randrange(table.num_rows + 3))] if table else []
            table = table.take(pa.array(rows, pa.int64())) if table.num_rows else table
        case _:
            names = list(table.column_names)
            rng.shuffle(names)
            table = table.rename_columns(names)
    pq.write_table(table, path)
    return f"{path.name}: {kind} of {field.name}"


def _retyped(rng: random.Random, values: list[Any]) -> tuple[list[Any], pa.DataType]:
    type_: pa.DataType = rng.choice(
        (pa.string(), pa.binary(), pa.int32(), pa.float32(), pa.bool_(), pa.list_(pa.int64()), pa.null(), pa.date32())
    )
    if pa.types.is_string(type_):
        return [None if value is None else str(value) for value in values], type_
    if pa.types.is_binary(type_):
        return [b"\xff\xfe" for _ in values], type_
    if pa.types.is_list(type_):
        return [[1, None] for _ in values], type_
    return [None if pa.types.is_null(type_) else rng.randrange(2) == 1 for _ in values] if pa.types.is_boolean(
        type_
    ) or pa.types.is_null(type_) else [7 for _ in values], type_


def _hostile_value(rng: random.Random, type_: pa.DataType, values: list[Any]) -> Any:
    if rng.random() < 0.2:
        return rng.choice(values)
    if pa.types.is_integer(type_):
        return rng.choice((-1, 0, 10**6, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)))
    if pa.types.is_floating(type_):
        return rng.choice((-1.0, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324))
    return rng.random() < 0.5 if pa.types.is_boolean(type_) else rng.choice(HOSTILE_TEXTS)


def value_places(document: Any) -> list[tuple[Any, Any]]:
    """Return every value of a document as its container and its key or index."""
    places: list[tuple[Any, Any]] = []
    containers = [document]
    while containers:
        container = containers.pop()
        items: Any = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in items:
            places.append((container, key))
            if isinstance(value, dict | list):
                containers.append(value)
    return places
