"""Shipped scenarios and sweeps, and the starter scenario."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path


def library_folder() -> Path:
    """Return the folder of the shipped scenarios."""
    return Path(str(files("scenarios"))) / "library"


def list_scenarios() -> list[Path]:
    """Return the shipped scenarios, sorted by name."""
    return sorted(library_folder().glob("*.yaml"))


def list_applications() -> list[Path]:
    """Return the shipped scenarios about an application of Kafka Streams, which the others lack, sorted by name."""
    return [path for path in list_scenarios() if re.search(r"^application:", path.read_text("utf-8"), re.MULTILINE)]


def find_scenario(path: Path) -> Path:
    """Return the path of a scenario: the path itself, or the shipped scenario of that name if no such file exists."""
    return find_shipped(path, list_scenarios())


def starter_scenario(name: str) -> str:
    """Return the text of a commented scenario to start from.

    `name`: name of the scenario; one that is blank or has unprintable characters is replaced by `starter`.
    """
    if not name.strip() or not name.isprintable():
        name = "starter"
    text = (Path(str(files("scenarios"))) / "starter.yaml").read_text(encoding="utf-8")
    quoted = name if re.fullmatch(r"[A-Za-z][\w-]*", name) else json.dumps(name)
    return text.replace("name: starter\n", f"name: {quoted}\n", 1)


def list_sweeps() -> list[Path]:
    """Return the shipped sweeps, sorted by name."""
    return sorted((library_folder() / "sweeps").glob("*.yaml"))


def find_shipped(path: Path, shipped: Iterable[Path]) -> Path:
    """Return the path itself, or the shipped file of that name if no such file exists."""
    if path.exists() or len(path.parts) > 1:
        return path
    name = path.name.removesuffix(".yaml")
    return next((file for file in shipped if file.stem == name), path)
