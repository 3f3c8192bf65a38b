"""The shipped scenarios reproduce the results stored beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor_sim.api.regression import stored_results_path, verify_file
from reports.analysis.stored.results import read_stored, write_stored
from reports.render.verification import as_text
from scenarios.shipped import list_scenarios
from simulator.model_version import MODEL_VERSION

EVERY = pytest.mark.parametrize("file", list_scenarios(), ids=lambda file: file.stem)


@EVERY
def test_a_shipped_scenario_comes_to_what_is_stored(file: Path) -> None:
    done = verify_file(file, {})
    assert done.status == "same", as_text(done)
    assert done.headline == "as stored", "record it again: the scenario or the model has changed"


@EVERY
def test_what_is_stored_is_of_the_model_of_today_and_written_as_the_verb_writes_it(file: Path) -> None:
    text = stored_results_path(file).read_text(encoding="utf-8")
    results = read_stored(text, file.name)
    assert results.origin.model == MODEL_VERSION
    assert write_stored(results) == text
