"""`--set path=value`: changes to a scenario before it is checked.

A path is written as in messages: `clients[0].count`, `application.configs.num.standby.replicas`. A list takes a
position or the name of one of its entries: `cluster.topics[orders].bytes_per_s`. What follows `configs`, `tags` or
`parameters` is one key, dots and all. Mappings on the way that are not there yet are made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.language.errors import Mistake, format_list, format_value
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.yaml_reader import YamlReadError, read_yaml_value

_FREE_KEYS = ("configs", "tags", "parameters")
_NAMES = ("name", "label", "id")
_SYNTAX = "write it like clients[0].count or cluster.topics[orders].size"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")


class _PathError(ValueError):
    """A path that leads nowhere."""


def format_override(path: str, value: str) -> str:
    """Name an override as messages do."""
    return f"--set {path}={value}"


def apply_overrides(root: Any, overrides: Sequence[tuple[str, str]]) -> tuple[dict[ScenarioPath, str], list[Mistake]]:
    """Change the data in place.

    Returns:
        The places that were set, with the override that set each; and what was wrong with the other overrides.
    """
    places: dict[ScenarioPath, str] = {}
    mistakes: list[Mistake] = []
    for path, value in overrides:
        source = format_override(path, value)
        try:
            place = _set(root, path, read_yaml_value(value))
        except YamlReadError as error:
            mistakes.append(Mistake(source, None, "", str(error)))
        except _PathError as error:
            mistakes.append(Mistake(source, None, path, str(error)))
        else:
            places = {other: by for other, by in places.items() if other[: len(place)] != place} | {place: source}
    return places, mistakes


def _set(root: Any, path: str, value: Any) -> ScenarioPath:
    steps = _split(path)
    place: list[str | int] = []
    target = root
    for position, step in enumerate(steps):
        is_last = position == len(steps) - 1
        if isinstance(target, dict) and isinstance(step, str):
            place.append(step)
            if is_last:
                target[step] = value
            elif target.get(step) is None:
                target[step] = {}
            target = target[step]
        elif isinstance(target, list) and isinstance(step, _Selector):
            index = _find(target, step, format_path(place))
            place.append(index)
            if is_last:
                target[index] = value
            target = target[index]
        else:
            here = format_path(place) or "the scenario"
            wanted = "a list" if isinstance(step, _Selector) else "a mapping"
            raise _PathError(f"{here} is {format_value(target)}, not {wanted}")
    return tuple(place)


@dataclass(frozen=True, slots=True)
class _Selector:
    """What stands in brackets."""

    text: str


def _split(path: str) -> list[str | _Selector]:
    steps: list[str | _Selector] = []
    position = 0
    while position < len(path):
        if steps and steps[-1] in _FREE_KEYS and path[position] == ".":
            return [*steps, path[position + 1 :]]
        match = _STEP.match(path, position)
        if match is None or (not steps and match[0].startswith((".", "["))):
            raise _PathError(f"not a path; {_SYNTAX}")
        steps.append(match[1] if match[1] is not None else _Selector(match[2]))
        position = match.end()
    if not steps:
        raise _PathError(f"not a path; {_SYNTAX}")
    return steps


def _find(items: list[Any], selector: _Selector, here: str) -> int:
    text = selector.text
    if re.fullmatch(r"[0-9]{1,9}", text):
        if int(text) < len(items):
            return int(text)
        there_are = f"[0] to [{len(items) - 1}]" if items else "none"
        raise _PathError(f"{here} has no [{text}] (there are: {there_are})")
    names = [_name(item) for item in items]
    if text in names:
        return names.index(text)
    known = format_list("there are", [name for name in names if name is not None])
    raise _PathError(f"{here} has no entry named {format_value(text)} ({known})")


def _name(item: Any) -> str | None:
    if isinstance(item, dict):
        return next((str(item[key]) for key in _NAMES if key in item), None)
    return item if isinstance(item, str) else None
