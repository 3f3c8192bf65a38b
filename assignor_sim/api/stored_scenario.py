"""The scenario of a directory of results, kept there with what it imports, so that its runs can be made again."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from scenarios.load import Scenario, ScenarioError, load
from scenarios.packed_imports import pack_imports, packed_scenario_folder
from simulator.model_version import MODEL_VERSION

FOLDER = PurePosixPath("scenario")


class StoredScenarioError(Exception):
    """A scenario that cannot be kept, or not be found again as it was; says why."""


def stored_scenario_path(scenario: Scenario) -> str:
    """Return where the text of the scenario goes in a directory of results."""
    name = scenario.path.name if scenario.path is not None else "scenario.yaml"
    return str(FOLDER / packed_scenario_folder(dict(scenario.imports)) / name)


def imports_not_stored(scenario: Scenario) -> list[str]:
    """Return the imports that a directory of results needs where they are: those with an absolute path."""
    return [name for name, _ in scenario.imports if PurePosixPath(name).is_absolute()]


def stored_scenario_files(scenario: Scenario) -> dict[str, bytes]:
    """Return the text of the scenario and what it imports, by their paths in a directory of results.

    Imports with an absolute path are not kept.

    Raises:
        KeptError: an import is not what it was when the scenario was read.
    """
    folder = scenario.path.parent if scenario.path is not None else Path()
    try:
        packed = pack_imports(folder, dict(scenario.imports))
    except OSError as error:
        raise StoredScenarioError(f"{error.filename}: cannot be read any more: {error.strerror or error}") from None
    files = {str(FOLDER / name): content for name, content in packed.files.items()}
    files[stored_scenario_path(scenario)] = scenario.text.encode()
    if scenario.imports:
        _check(files, scenario)
    return files


def _check(files: Mapping[str, bytes], scenario: Scenario) -> None:
    """Load the scenario from the files to keep, and see that it imports what the run imported."""
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as directory:
        for name, content in files.items():
            file = Path(directory, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        try:
            again = dict(load(Path(directory, stored_scenario_path(scenario)), scenario.overrides).imports)
        except ScenarioError as error:
            raise StoredScenarioError(f"the imports have changed since the scenario was read: {error}") from None
    for name, digest in scenario.imports:
        if again.get(name) != digest:
            folder = scenario.path.parent if scenario.path is not None else Path()
            raise StoredScenarioError(f"{folder / name}: has changed since the scenario was read; run it again")


def read_stored_scenario(directory: Path, manifest: Mapping[str, Any]) -> Scenario:
    """Read back the scenario of a directory of results.

    Raises:
        KeptError: it, or what it imports, is not there or not what it was; or its results are of another model.
    """
    about = manifest["scenario"]
    if "file" not in about:
        raise StoredScenarioError(f"{directory}: written by a version that did not keep the scenario")
    if manifest.get("model") != MODEL_VERSION:
        raise StoredScenarioError(
            f"{directory}: results of model {manifest.get('model')}; this version has model {MODEL_VERSION}"
        )
    overrides = [tuple(text.partition("=")[::2]) for text in about["overrides"]]
    try:
        scenario = load(directory / about["file"], overrides)
    except ScenarioError as error:
        raise StoredScenarioError(str(error)) from None
    if hashlib.sha256(scenario.text.encode()).hexdigest() != about["sha256"]:
        raise StoredScenarioError(f"{directory / about['file']}: is not the text that these results are of")
    for name, digest in dict(scenario.imports).items():
        if about["imports"].get(name) != digest:
            raise StoredScenarioError(f"{name}: is not what it was when these results were made")
    return scenario
