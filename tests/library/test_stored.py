"""The shipped scenarios reproduce the results that are stored with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor_sim.api.regression import stored_results_path, verify_file
from reports.analysis.stored.results import read_stored, write_stored
from reports.render.verification import as_text
from scenarios.shipped import list_scenarios
from simulator.model_version import MODEL_VERSION

pytestmark = pytest.mark.answers

EVERY_SCENARIO = pytest.mark.parametrize("file", list_scenarios(), ids=lambda file: file.stem)


@EVERY_SCENARIO
def test_shipped_scenario_reproduces_its_stored_results(file: Path) -> None:
    verification = verify_file(file, {})
    assert verification.status == "same", as_text(verification)
    assert verification.headline == "as stored", "record it again: the scenario or the model has changed"


@EVERY_SCENARIO
def test_stored_results_have_the_current_model_version_and_format(file: Path) -> None:
    text = stored_results_path(file).read_text(encoding="utf-8")
    results = read_stored(text, file.name)
    assert results.origin.model == MODEL_VERSION
    assert write_stored(results) == text
