"""The shipped scenarios come to what is stored beside them, by the model of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor_sim.regression import stored_beside, verify
from reports.stored.results import read_stored, write_stored
from reports.stored.verification import as_text
from scenarios.shipped import shipped
from simulator.model import MODEL

EVERY = pytest.mark.parametrize("file", shipped(), ids=lambda file: file.stem)


@EVERY
def test_a_shipped_scenario_comes_to_what_is_stored(file: Path) -> None:
    done = verify(file, {})
    assert done.status == "same", as_text(done)
    assert done.headline == "as stored", "record it anew: the scenario or the model has changed"


@EVERY
def test_what_is_stored_is_of_the_model_of_today_and_written_as_the_verb_writes_it(file: Path) -> None:
    text = stored_beside(file).read_text(encoding="utf-8")
    results = read_stored(text, file.name)
    assert results.origin.model == MODEL
    assert write_stored(results) == text
