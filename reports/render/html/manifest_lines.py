"""Content of a manifest as text lines, for any structure and order of its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.analysis.text import printable


def manifest_lines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a manifest as pairs of name and text; assignors and the scenario's text are left out."""
    for name, value in sorted(manifest.items()):
        if name == "assignors":
            continue
        if isinstance(value, Mapping):
            parts = [
                f"{key} {_one_line(part)}" for key, part in sorted(value.items()) if (name, key) != ("scenario", "text")
            ]
            yield name, ", ".join(parts)
        else:
            yield name, _one_line(value)


def assignor_settings(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the label and the settings of each assignor in a manifest."""
    assignors = manifest.get("assignors", ())
    for number, assignor in enumerate(assignors if isinstance(assignors, Sequence) else (), 1):
        if isinstance(assignor, Mapping):
            yield str(assignor.get("label", number)), ", ".join(_settings_of(assignor))
        else:
            yield str(number), _one_line(assignor)


def scenario_text(manifest: Mapping[str, Any]) -> str:
    """Return the YAML of the scenario with control characters escaped; empty if missing."""
    scenario = manifest.get("scenario")
    text = scenario.get("text", "") if isinstance(scenario, Mapping) else ""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def _settings_of(assignor: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(assignor.items()):
        if isinstance(value, Mapping):
            yield from (f"{key} {_one_line(part)}" for key, part in sorted(value.items()))
        elif name != "label":
            yield f"{name} {_one_line(value)}"


def _one_line(value: object) -> str:
    """Return a value as one line: strings unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
