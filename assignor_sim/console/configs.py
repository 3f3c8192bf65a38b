"""Options that are Streams configs: KEY=VALUE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assignor_sim.console.exits import exit_with_error


def parse_configs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return configs as YAML values, by key; exit with code 2 if a text is not KEY=VALUE."""
    from ruamel.yaml import YAML

    configs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            exit_with_error(f"{option}: expected KEY=VALUE, found {text!r}")
        configs[key] = YAML(typ="safe").load(value)
    return configs
