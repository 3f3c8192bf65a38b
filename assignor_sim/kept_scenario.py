"""The scenario of a directory of results, kept there with what it imports, so that its runs can be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from scenarios.load import Scenario, ScenarioError, load
from simulator.model import MODEL

FOLDER = PurePosixPath("scenario")


class KeptError(Exception):
    """A scenario that cannot be kept, or not be found again as it was; says why."""


def kept_name(scenario: Scenario) -> str:
    """Where the text of the scenario goes in a directory of results.

    It lies as deep as the names of imported files lead up, so that these stay within the folder.
    """
    up = max((PurePosixPath(name).parts.count("..") for name, _ in scenario.imports), default=0)
    name = scenario.path.name if scenario.path is not None else "scenario.yaml"
    return str(FOLDER.joinpath(*["up"] * up, name))


def kept_files(scenario: Scenario) -> dict[str, bytes]:
    """The text of the scenario and the files that it imports, by their paths in a directory of results.

    Files that the scenario names by absolute paths are not kept.

    Raises:
        KeptError: an imported file is not what it was when the scenario was read.
    """
    home = PurePosixPath(kept_name(scenario))
    files = {str(home): scenario.text.encode()}
    folder = scenario.path.parent if scenario.path is not None else Path()
    for name, digest in scenario.imports:
        if PurePosixPath(name).is_absolute():
            continue
        try:
            content = (folder / name).read_bytes()
        except OSError as error:
            raise KeptError(f"{folder / name}: cannot be read any more: {error.strerror or error}") from None
        if hashlib.sha256(content.decode("utf-8-sig").encode()).hexdigest() != digest:
            raise KeptError(f"{folder / name}: has changed since the scenario was read; run it again")
        files[_within(home.parent, name)] = content
    return files


def _within(folder: PurePosixPath, name: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(name).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


def kept_scenario(directory: Path, manifest: Mapping[str, Any]) -> Scenario:
    """Read back the scenario of a directory of results.

    Raises:
        KeptError: it, or what it imports, is not there or not what it was; or its results are of another model.
    """
    about = manifest["scenario"]
    if "file" not in about:
        raise KeptError(f"{directory}: written by a version that did not keep the scenario")
    if manifest.get("model") != MODEL:
        raise KeptError(f"{directory}: results of model {manifest.get('model')}; this version has model {MODEL}")
    overrides = [tuple(text.partition("=")[::2]) for text in about["overrides"]]
    try:
        scenario = load(directory / about["file"], overrides)
    except ScenarioError as error:
        raise KeptError(str(error)) from None
    if hashlib.sha256(scenario.text.encode()).hexdigest() != about["sha256"]:
        raise KeptError(f"{directory / about['file']}: is not the text that these results are of")
    for name, digest in dict(scenario.imports).items():
        if about["imports"].get(name) != digest:
            raise KeptError(f"{name}: is not what it was when these results were made")
    return scenario
