"""The scenario in a result directory: its text and imported files, with which a run can be repeated."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from scenarios.load import Scenario, ScenarioError, load, pack_imports, packed_scenario_folder
from simulator.model_version import MODEL_VERSION
from simulator.results.temporary_folder import temporary_folder

FOLDER = PurePosixPath("scenario")


class StoredScenarioError(Exception):
    """A scenario cannot be stored, or the stored one does not reproduce the results."""


def scenario_record(scenario: Scenario) -> dict[str, Any]:
    """Return the entry of the manifest about a scenario, JSON-serializable."""
    return {
        "name": scenario.name,
        "text": scenario.text,
        "file": stored_scenario_path(scenario),
        "sha256": _sha256(scenario),
        "imports": dict(scenario.imports),
        "renamed": [client.name for client in scenario.blueprint.clients if not client.keeps_name],
        "inferred": list(scenario.notes),
        "warnings": list(scenario.warnings),
        "overrides": [f"{path}={value}" for path, value in scenario.overrides],
    }


def stored_scenario_path(scenario: Scenario) -> str:
    """Return the path of the scenario's text in a result directory."""
    name = scenario.path.name if scenario.path is not None else "scenario.yaml"
    return str(FOLDER / packed_scenario_folder(dict(scenario.imports)) / name)


def imports_not_stored(scenario: Scenario) -> list[str]:
    """Return the imports that a result directory does not contain: those with an absolute path."""
    return [name for name, _ in scenario.imports if PurePosixPath(name).is_absolute()]


def stored_scenario_files(scenario: Scenario) -> dict[str, bytes]:
    """Return the scenario's text and its imported files, except those with an absolute path.

    Returns:
        The content of each file by its path in a result directory.

    Raises:
        StoredScenarioError: an imported file has changed since the scenario was loaded.
    """
    folder = scenario.path.parent if scenario.path is not None else Path()
    try:
        packed = pack_imports(folder, dict(scenario.imports))
    except OSError as error:
        raise StoredScenarioError(f"{error.filename}: cannot be read: {error.strerror or error}") from None
    files = {str(FOLDER / name): content for name, content in packed.files.items()}
    files[stored_scenario_path(scenario)] = scenario.text.encode()
    if scenario.imports:
        _check_imports(files, scenario)
    return files


def _check_imports(files: Mapping[str, bytes], scenario: Scenario) -> None:
    """Load the scenario from the files to store and compare its imports with those of the run.

    Raises:
        StoredScenarioError: they differ.
    """
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as directory:
        for name, content in files.items():
            file = Path(directory, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        try:
            reloaded = load(Path(directory, stored_scenario_path(scenario)), scenario.overrides)
        except ScenarioError as error:
            message = f"imported files have changed since the scenario was loaded: {error}"
            raise StoredScenarioError(message) from None
    digests = dict(reloaded.imports)
    for name, digest in scenario.imports:
        if digests.get(name) != digest:
            folder = scenario.path.parent if scenario.path is not None else Path()
            raise StoredScenarioError(f"{folder / name}: has changed since the scenario was loaded; run it again")


def read_stored_scenario(directory: Path, manifest: Mapping[str, Any]) -> Scenario:
    """Load the scenario of a result directory.

    Args:
        directory: the result directory.
        manifest: its manifest.

    Returns:
        The scenario that the results were simulated with.

    Raises:
        StoredScenarioError: the scenario or an imported file is missing or has changed, or the results come from
            another version of the model.
    """
    about = manifest["scenario"]
    if manifest["model"] != MODEL_VERSION:
        raise StoredScenarioError(
            f"{directory}: results of model {manifest['model']}; this version has model {MODEL_VERSION}"
        )
    overrides = [tuple(text.partition("=")[::2]) for text in about["overrides"]]
    try:
        scenario = load(directory / about["file"], overrides)
    except ScenarioError as error:
        raise StoredScenarioError(str(error)) from None
    if _sha256(scenario) != about["sha256"]:
        raise StoredScenarioError(f"{directory / about['file']}: is not the scenario of the results")
    for name, digest in dict(scenario.imports).items():
        if about["imports"].get(name) != digest:
            raise StoredScenarioError(f"{name}: has changed since these results were written")
    return scenario


def _sha256(scenario: Scenario) -> str:
    return hashlib.sha256(scenario.text.encode()).hexdigest()
