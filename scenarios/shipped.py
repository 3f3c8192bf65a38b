"""Where scenarios and sweeps are found: a path of the user's, or the name of a shipped one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def library_folder() -> Path:
    """The directory of the shipped scenarios."""
    return Path(str(files("scenarios"))) / "library"


def list_scenarios() -> list[Path]:
    """The shipped scenarios, sorted by name."""
    return sorted(library_folder().glob("*.yaml"))


def find_scenario(argument: Path) -> Path:
    """The file that is meant: the path as it stands, else a shipped scenario of that name."""
    if argument.exists():
        return argument
    named = library_folder() / f"{argument.name.removesuffix('.yaml')}.yaml"
    return named if len(argument.parts) == 1 and named.is_file() else argument


def list_sweeps() -> list[Path]:
    """The shipped sweeps, sorted by name."""
    return sorted((library_folder() / "sweeps").glob("*.yaml"))


def find_sweep(argument: Path) -> Path:
    """The file that is meant: the path as it stands, else a shipped sweep of that name."""
    if argument.exists():
        return argument
    named = library_folder() / "sweeps" / f"{argument.name.removesuffix('.yaml')}.yaml"
    return named if len(argument.parts) == 1 and named.is_file() else argument
