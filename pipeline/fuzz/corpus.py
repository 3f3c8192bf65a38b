"""The corpus of a search: kept inputs, and cases that `verify` replays.

The folder has `NAME.yaml` and `NAME.fuzz.json` for each case, kept inputs in `inputs/`, and `fuzz.json`, the number of
cases so far. Each file is written beside its place and then renamed, and `fuzz.json` last: a killed search leaves the
corpus of an earlier moment, and perhaps files that the next one replaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipeline.fuzz.candidates import FuzzInput
from reports.analysis.stored.invariant_case import (
    SUFFIX,
    InvariantCase,
    invariant_case_path,
    read_invariant_case,
    write_invariant_case,
)
from scenarios.suite.documents import Document, document_text
from simulator.results.files import output_lock, read_document, write_file

MANIFEST: Final = "fuzz.json"
FORMAT: Final = 1
_INPUTS: Final = "inputs"


class CorpusError(Exception):
    """A folder is not a corpus, or cannot be read or written; the message says where and why."""


@dataclass(slots=True)
class Corpus:
    """A corpus on disk; None as folder keeps nothing.

    Attributes:
        cases: number of cases so far.
        inputs: the kept inputs, by number.
        stored: the stored cases by file name of the scenario.
    """

    folder: Path | None
    cases: int = 0
    inputs: list[FuzzInput] = field(default_factory=list)
    stored: dict[str, InvariantCase] = field(default_factory=dict)

    def add_input(self, found: FuzzInput) -> None:
        """Keep an input."""
        self.inputs.append(found)
        if self.folder is not None:
            text = document_text({**found.document, "seeds": [found.seed]})
            _write(self.folder / _INPUTS / f"{found.number:08}.yaml", text)

    def add_case(self, stem: str, document: Document, comment: str, case: InvariantCase) -> str | None:
        """Store a case; one of the same name is replaced.

        Returns the file name of its scenario; None without a folder.
        """
        name = f"{stem}.yaml"
        self.stored[name] = case
        if self.folder is None:
            return None
        # The scenario comes last: without it, the other file has no effect.
        _write(self.folder / f"{stem}{SUFFIX}", write_invariant_case(case))
        _write(self.folder / name, document_text(document, comment))
        return name

    def save(self, cases: int, facts: Mapping[str, Any]) -> None:
        """Set the number of cases so far, which makes everything before it permanent.

        `facts`: further values for people.
        """
        self.cases = cases
        if self.folder is not None:
            manifest = {"kind": "fuzz", "format": FORMAT, "cases": cases, "inputs": len(self.inputs), **facts}
            _write(self.folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def open_corpus(folder: Path | None) -> Iterator[Corpus]:
    """Open a corpus, or create it; no other process can write to it until the end of the block.

    `folder`: the folder; None to keep nothing. Raises CorpusError if the folder has other content, or cannot be read or
    written.
    """
    if folder is None:
        yield Corpus(None)
        return
    manifest = folder / MANIFEST
    try:
        if folder.is_dir() and not manifest.exists() and any(not _is_left_over(path) for path in folder.iterdir()):
            raise CorpusError(f"{folder}: exists and is not a corpus (it has no {MANIFEST}); choose another --corpus")
        (folder / _INPUTS).mkdir(parents=True, exist_ok=True)
        with output_lock(manifest):
            yield _read(folder)
    except OSError as error:
        raise CorpusError(f"{folder}: {error.strerror or error}") from error


def _is_left_over(path: Path) -> bool:
    """Return whether a search that was killed before its first batch may have left a file."""
    return path.name == _INPUTS or path.name.startswith(f".{MANIFEST}") or path.name.endswith((".yaml", SUFFIX))


def _read(folder: Path) -> Corpus:
    manifest = folder / MANIFEST
    cases = _number_of_cases(manifest) if manifest.exists() else 0
    inputs = []
    for file in sorted((folder / _INPUTS).glob("*.yaml")):
        found = _input(file)
        if found.number <= cases:
            inputs.append(found)
        else:
            file.unlink()  # A search was killed before its case counted.
    stored = {}
    for file in sorted(folder.glob("*.yaml")):
        beside = invariant_case_path(file)
        if beside.exists():
            stored[file.name] = read_invariant_case(read_document(beside), str(beside))
    return Corpus(folder, cases, inputs, stored)


def _number_of_cases(manifest: Path) -> int:
    try:
        content: Any = json.loads(read_document(manifest))
    except (ValueError, RecursionError):
        content = None
    cases = content.get("cases") if isinstance(content, dict) and content.get("format") == FORMAT else None
    if not isinstance(cases, int) or isinstance(cases, bool) or cases < 0:
        raise CorpusError(f"{manifest}: is not the {MANIFEST} of a corpus in format {FORMAT}")
    return cases


def _input(file: Path) -> FuzzInput:
    """Read a kept input."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content: Any = YAML(typ="safe").load(read_document(file))
        document = {key: value for key, value in content.items() if key != "seeds"}
        if not {"cluster", "application", "clients", "events", "name"} <= document.keys():
            raise ValueError("a section is missing")
        return FuzzInput(int(file.stem), int(content["seeds"][0]), document)
    except (YAMLError, ValueError, AttributeError, KeyError, IndexError, TypeError) as error:
        raise CorpusError(f"{file}: is not an input of this corpus; remove it ({str(error).splitlines()[0]})") from None


def _write(file: Path, text: str) -> None:
    write_file(file, text.encode())
