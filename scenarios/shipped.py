"""Shipped scenarios and sweeps."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path


def library_folder() -> Path:
    """Return the folder of the shipped scenarios."""
    return Path(str(files("scenarios"))) / "library"


def list_scenarios() -> list[Path]:
    """Return the shipped scenarios, sorted by name."""
    return sorted(library_folder().glob("*.yaml"))


def find_scenario(path: Path) -> Path:
    """Return the path of a scenario: the path itself, or the shipped scenario of that name if no such file exists."""
    return find_shipped(path, list_scenarios())


def list_sweeps() -> list[Path]:
    """Return the shipped sweeps, sorted by name."""
    return sorted((library_folder() / "sweeps").glob("*.yaml"))


def find_shipped(path: Path, shipped: Iterable[Path]) -> Path:
    """Return the path itself, or the shipped file of that name if no such file exists."""
    if path.exists() or len(path.parts) > 1:
        return path
    name = path.name.removesuffix(".yaml")
    return next((file for file in shipped if file.stem == name), path)
