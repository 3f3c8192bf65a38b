"""Find scenarios and sweeps by path, or shipped ones by name."""

from __future__ import annotations

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
    return _find(path, library_folder())


def list_sweeps() -> list[Path]:
    """Return the shipped sweeps, sorted by name."""
    return sorted((library_folder() / "sweeps").glob("*.yaml"))


def find_sweep(path: Path) -> Path:
    """Return the path of a sweep: the path itself, or the shipped sweep of that name if no such file exists."""
    return _find(path, library_folder() / "sweeps")


def _find(path: Path, folder: Path) -> Path:
    if path.exists():
        return path
    shipped = folder / f"{path.name.removesuffix('.yaml')}.yaml"
    return shipped if len(path.parts) == 1 and shipped.is_file() else path
