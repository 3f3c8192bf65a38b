"""Pack the files that a scenario imports, so that the scenario can be loaded in another directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from scenarios.language.errors import Mistake, ScenarioError
from scenarios.resolution.measured_traffic import measured_files
from simulator.results.files import open_regular


@dataclass(frozen=True, slots=True)
class PackedImports:
    """Imported files by their relative paths in another directory.

    Attributes:
        folder: the folder in which to put the scenario, so that its relative paths lead to these files.
        files: the content by path.
    """

    folder: PurePosixPath
    files: dict[str, bytes]


def packed_scenario_folder(names: Iterable[str]) -> PurePosixPath:
    """Return a folder deep enough that imported names with `..` stay within the directory."""
    up = max((PurePosixPath(name).parts.count("..") for name in names), default=0)
    return PurePosixPath(*["up"] * up)


def pack_imports(folder: Path, names: Iterable[str]) -> PackedImports:
    """Read the files that a scenario imports; of an ingested directory, the tables that scenarios use.

    Absolute paths are skipped: they stay valid on the same machine. Raises OSError if a file cannot be read; and
    ScenarioError if two different files would get the same path, because a folder in a name is a symbolic link.
    """
    names = sorted(name for name in names if not PurePosixPath(name).is_absolute())
    base_folder = packed_scenario_folder(names)
    files: dict[str, bytes] = {}
    for name in names:
        for extra in _parts(folder / name):
            path, content = _within(base_folder, name, extra), _content(folder / name / extra)
            if files.setdefault(path, content) != content:
                message = "is another file than that of the same path without symbolic links; name it without '..'"
                raise ScenarioError([Mistake(str(folder / name), None, "", message)])
    return PackedImports(base_folder, files)


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        return opened.read()


def _parts(path: Path) -> Iterator[str]:
    if path.is_dir():
        yield from (file.relative_to(path).as_posix() for file in measured_files(path))
    else:
        yield ""


def _within(folder: PurePosixPath, *names: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(*names).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))
