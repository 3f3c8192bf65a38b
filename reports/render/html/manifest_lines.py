"""What a manifest says, in lines that people read; whatever shape it has and whatever order its keys are in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.analysis.text import printable


def manifest_lines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a manifest says in a line each; what has a place of its own on the page is left out."""
    for name, value in sorted(manifest.items()):
        if name == "assignors":
            continue
        if isinstance(value, Mapping):
            parts = [
                f"{key} {_said(part)}" for key, part in sorted(value.items()) if (name, key) != ("scenario", "text")
            ]
            yield name, ", ".join(parts)
        else:
            yield name, _said(value)


def assignor_settings(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a manifest says about each assignor."""
    assignors = manifest.get("assignors", ())
    for number, each in enumerate(assignors if isinstance(assignors, Sequence) else (), 1):
        if isinstance(each, Mapping):
            yield str(each.get("label", number)), ", ".join(_said_of(each))
        else:
            yield str(number), _said(each)


def scenario_text(manifest: Mapping[str, Any]) -> str:
    """The scenario word for word, as far as it can be shown; empty if it is not there."""
    scenario = manifest.get("scenario")
    text = scenario.get("text", "") if isinstance(scenario, Mapping) else ""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def _said_of(assignor: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(assignor.items()):
        if isinstance(value, Mapping):
            yield from (f"{key} {_said(part)}" for key, part in sorted(value.items()))
        elif name != "label":
            yield f"{name} {_said(value)}"


def _said(value: object) -> str:
    """A value in a line; strings as they are, everything else as JSON has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
