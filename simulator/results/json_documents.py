"""JSON documents of unknown origin: read with limits, and checked by a pydantic model with located errors."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

MAX_DEPTH: Final = 50
"""Maximum nesting of lists and objects."""

_MAX_MISTAKES: Final = 5
_MAX_INTEGER: Final = 2**64

Model = TypeVar("Model", bound=BaseModel)


class JsonError(ValueError):
    """A text that is not a valid JSON document; the message says where and why."""


def read_json(text: str) -> Any:
    """Parse a JSON document.

    Returns its value. All texts in it can be encoded, and all numbers are finite. Raises JsonError if the text is not
    JSON, is nested more than `MAX_DEPTH` deep, or has a value that JSON does not define.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise JsonError(f"lists and objects are nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise JsonError(f"not JSON: {error}") from None
    _check_value(value)
    return value


def validated(model: type[Model], value: Any) -> Model:
    """Return a JSON value as a pydantic model.

    Raises JsonError if the value does not conform to the model; the message has the path of each mistake.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        mistakes = [f"{path_text(detail['loc'])}: {_lower(detail['msg'])}" for detail in error.errors()[:_MAX_MISTAKES]]
        raise JsonError("; ".join(mistakes).removeprefix(": ")) from None


def path_text(path: tuple[int | str, ...]) -> str:
    """Return a path in a document as text, such as `assignors[0].label`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_shown(part)}" for part in path)
    return "".join(parts).removeprefix(".")


def _check_value(document: Any) -> None:
    pending: list[tuple[Any, tuple[int | str, ...]]] = [(document, ())]
    while pending:
        value, path = pending.pop()
        if len(path) > MAX_DEPTH:
            raise JsonError(f"{path_text(path[:3])}…: lists and objects are nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            pending += [(key, path) for key in value]
        pending += [(inner, (*path, key)) for key, inner in _items(value)]
        if isinstance(value, float) and not math.isfinite(value):
            raise JsonError(f"{path_text(path)}: {value} is not a number in JSON")
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise JsonError(f"{path_text(path)}: a number of very many digits")
        if isinstance(value, str) and not _can_be_encoded(value):
            raise JsonError(f"{path_text(path)}: has half of a surrogate pair, which is not a character")


def _items(value: Any) -> Iterator[tuple[int | str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(key: str) -> str:
    return key.encode("unicode_escape").decode()[:60]


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
