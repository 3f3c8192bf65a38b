"""Apply overrides (`--set path=value`) to a scenario before it is validated.

Paths have the same form as in messages: `clients[0].count`, `application.configs.num.standby.replicas`. A list takes a
position or the name of an entry: `cluster.topics[orders].bytes_per_s`. The text after `configs`, `group_configs`,
`tags` or `parameters` is a single key, including its dots. Missing mappings on the path are created.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.language.errors import Mistake, format_list, format_value
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.yaml_reader import YamlReadError, read_yaml_value

_FREE_KEYS = ("configs", "group_configs", "tags", "parameters")
"""Keys whose entries may have dots in their keys."""

_NAMES = ("name", "label", "id")
"""Keys that name an entry of a list."""

_SYNTAX = "write it like clients[0].count or cluster.topics[orders].size"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")
_POSITION = re.compile(r"[0-9]{1,9}")
_SELECTABLE = re.compile(r"[\w.-]{1,60}")
_MAX_SELECTORS = 3


Overrides = Sequence[tuple[str, object]] | Mapping[str, object]
"""Paths and new values."""

NameOverride = Callable[[str, str], str]
"""Returns the name of an override in messages, given its path and value."""


class _PathError(ValueError):
    """A path that does not exist in the scenario."""


def format_override(path: str, value: str) -> str:
    """Format an override for messages."""
    return f"--set {path}={value}"


def override_text(value: object) -> str:
    """Return the new value of an override as it is written in YAML; a text is taken as it is."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def apply_overrides(
    root: Any, overrides: Sequence[tuple[str, str]], name_override: NameOverride = format_override
) -> tuple[dict[ScenarioPath, str], list[Mistake]]:
    """Apply overrides to the data in place.

    `overrides`: paths and values. Returns the name of the override that set each path, and the mistakes of the
    overrides that cannot be applied.
    """
    sources: dict[ScenarioPath, str] = {}
    mistakes: list[Mistake] = []
    for path, value in overrides:
        source = name_override(path, value)
        try:
            set_path = _set(root, path, read_yaml_value(value))
        except (YamlReadError, _PathError) as error:
            mistakes.append(Mistake(source, None, path, str(error)))
        else:
            sources = {key: override for key, override in sources.items() if key[: len(set_path)] != set_path}
            sources[set_path] = source
    return sources, mistakes


def _set(root: Any, path: str, value: Any) -> ScenarioPath:
    steps = _split(path)
    resolved_path: list[str | int] = []
    target = root
    for position, step in enumerate(steps):
        is_last = position == len(steps) - 1
        if isinstance(target, dict) and isinstance(step, str):
            resolved_path.append(step)
            if is_last:
                target[step] = value
            elif target.get(step) is None:
                target[step] = {}
            target = target[step]
        elif isinstance(target, list) and isinstance(step, _Selector):
            index = _find(target, step, format_path(resolved_path))
            resolved_path.append(index)
            if is_last:
                target[index] = value
            target = target[index]
        else:
            parent = format_path(resolved_path) or "the scenario"
            wanted = "a list" if isinstance(step, _Selector) else "a mapping"
            raise _PathError(f"{parent} is {format_value(target)}, not {wanted}{_selectors(target, parent)}")
    return tuple(resolved_path)


@dataclass(frozen=True, slots=True)
class _Selector:
    """The text between the brackets of a list item: a position or a name."""

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


def _find(items: list[Any], selector: _Selector, parent: str) -> int:
    text = selector.text
    if _POSITION.fullmatch(text):
        if int(text) < len(items):
            return int(text)
        positions = f"[0] to [{len(items) - 1}]" if items else "none"
        raise _PathError(f"{parent} has no [{text}] (positions: {positions})")
    names = [_name(item) for item in items]
    if text in names:
        return names.index(text)
    known = format_list("entries", [name for name in names if name is not None])
    raise _PathError(f"{parent} has no entry named {format_value(text)} ({known})")


def _selectors(target: Any, parent: str) -> str:
    """Return how to select an entry of a list that is not empty."""
    if not isinstance(target, list) or not target:
        return ""
    shown = range(min(len(target), _MAX_SELECTORS))
    selectors = [f"{parent}[{_selector(target, position)}]" for position in shown]
    more = ", …" if len(target) > _MAX_SELECTORS else ""
    return f" (select an entry: {', '.join(selectors)}{more})"


def _selector(items: list[Any], position: int) -> str:
    """Return the name of an entry; its position if the name is missing, ambiguous or not readable as one."""
    names = [_name(item) for item in items]
    name = names[position]
    is_clear = name is not None and _SELECTABLE.fullmatch(name) and not _POSITION.fullmatch(name)
    return name if name is not None and is_clear and names.count(name) == 1 else str(position)


def _name(item: Any) -> str | None:
    if isinstance(item, dict):
        return next((str(item[key]) for key in _NAMES if key in item), None)
    return item if isinstance(item, str) else None
