"""Predicted run times of the settings of a sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scenarios.sweeps import prepared
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.examples import write_sweep

PARTITIONS = """
name: partitions
scenario: shop.yaml
factors:
  - {{name: partitions, path: 'cluster.topics[0].partitions', values: {values}}}
assignors: [high_availability]
seeds: 1
"""


@pytest.mark.parametrize("place", [0, 7, 12, 16, 19])
def test_one_expensive_value_of_many_is_predicted_so(tmp_path: Path, place: int) -> None:
    values = list(range(4, 24))
    values[place] = 500
    sweep = load_sweep(write_sweep(tmp_path, PARTITIONS.format(values=values)))
    run_ms = prepare_sweep(sweep).run_ms[:, 0]
    others = np.delete(run_ms, place)
    assert run_ms[place] > 5 * others.max()
    assert others.max() < 3 * others.min()


def test_few_scenarios_are_loaded_and_predict_the_values_near_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [1, *range(30, 2, -1)]
    loaded: list[str] = []
    load = prepared.load

    def counted(path: Path, overrides: list[tuple[str, str]], *more: object) -> object:
        loaded.append(overrides[0][1])
        return load(path, overrides, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(prepared, "load", counted)
    sweep = load_sweep(write_sweep(tmp_path, PARTITIONS.format(values=values)))
    run_ms = prepare_sweep(sweep).run_ms[:, 0]
    assert len(loaded) == 1 + 8
    assert {"1", "30"} <= set(loaded)
    ordered = run_ms[np.argsort(values)]
    assert (np.diff(ordered) >= 0).all()
    assert ordered[0] < ordered[-1]
