"""Sweep files: their settings, and errors in invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios.language import overrides
from scenarios.load import ScenarioError
from scenarios.load import load as load_scenario
from scenarios.shipped import list_sweeps
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.examples import BROKEN, SWEEP, write_sweep


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_sweep(write_sweep(folder, text))
    return [str(mistake).removeprefix(str(folder) + "/") for mistake in caught.value.mistakes]


def test_last_factor_of_grid_varies_fastest(tmp_path: Path) -> None:
    sweep = load_sweep(write_sweep(tmp_path))
    assert sweep.settings == ((0, 2), (0, 4), (1, 2), (1, 4))
    assert sweep.seeds == (1, 2, 3)
    assert sweep.name == "shop-sweep"


def test_setting_overrides_scenario_like_set_option(tmp_path: Path) -> None:
    sweep = load_sweep(write_sweep(tmp_path))
    scenario = load_scenario(sweep.scenario, sweep.overrides((1, 4)))
    assert scenario.assignment_configs.num_standby_replicas == 1
    assert scenario.assignment_configs.max_warmup_replicas == 4


def test_factor_may_set_several_paths_with_a_unit(tmp_path: Path) -> None:
    text = SWEEP + "set: {duration: 1h}\n"
    text = text.replace(
        "{name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}",
        "{name: rate, path: ['cluster.topics[orders].bytes_per_s', 'clients[0].restore'], values: [5], unit: MB/s}",
    )
    sweep = load_sweep(write_sweep(tmp_path, text))
    assert sweep.overrides(sweep.settings[0]) == [
        ("duration", '"1h"'),
        ("application.configs.num.standby.replicas", "0"),
        ("cluster.topics[orders].bytes_per_s", '"5 MB/s"'),
        ("clients[0].restore", '"5 MB/s"'),
    ]
    assert load_scenario(sweep.scenario, sweep.overrides(sweep.settings[0])).blueprint.duration_ms == 3_600_000


def test_rows_replace_default_grid_and_follow_explicit_design(tmp_path: Path) -> None:
    rows = "rows: [{standbys: 2, warmups: 9}, {standbys: 0, warmups: 2}]\n"
    assert load_sweep(write_sweep(tmp_path, SWEEP + rows)).settings == ((2, 9), (0, 2))
    both = load_sweep(write_sweep(tmp_path, SWEEP + rows + "design: grid\n")).settings
    assert both == ((0, 2), (0, 4), (1, 2), (1, 4), (2, 9)), "duplicate settings are removed"


def test_factor_values_may_be_texts_and_lists(tmp_path: Path) -> None:
    text = SWEEP.replace("values: [2, 4]", "values: [2]").replace(
        "seeds: 3", "  - {name: racks, path: 'clients[0].racks', values: [[az1], [az1, 'no']]}"
    )
    sweep = load_sweep(write_sweep(tmp_path, text))
    assert [factor.is_number for factor in sweep.factors] == [True, True, False]
    root = {"clients": [{"racks": []}]}
    overrides.apply_overrides(root, sweep.overrides(sweep.settings[1])[-1:])
    assert root["clients"][0]["racks"] == ["az1", "no"], "a text that is false in YAML 1.1 stays a text"


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    invalid = """scenario: nowhere
factrs: 1
factors:
  - {name: a, path: x, values: [0, 1, 1]}
  - {name: A, path: y, between: [100, 1], scale: log}
  - {name: seed, path: z}
design: {random: 3, latin_hypercube: 4}
rows: [{a: 1, b: 2}]
seeds: [1, 1]
"""
    assert mistakes(tmp_path, invalid) == [
        "sweep.yaml:1: scenario: 'nowhere': no such file next to the sweep, and no such shipped scenario",
        "sweep.yaml:2: factrs: unknown key (did you mean 'factors'?)",
        "sweep.yaml:4: factors[0].values: duplicate value",
        "sweep.yaml:5: factors[1].between: the range from 100 to 1 is empty; put the smaller end first",
        "sweep.yaml:5: factors[1].name: duplicate factor name 'A'",
        "sweep.yaml:5: factors[1]: needs values: [0, 1, 2] or between: [1, 100]",
        "sweep.yaml:6: factors[2].name: 'seed' is a column of the tables; choose another name",
        "sweep.yaml:6: factors[2]: needs values: [0, 1, 2] or between: [1, 100]",
        "sweep.yaml:7: design: expected one of grid, random: 100 and latin_hypercube: 100",
        "sweep.yaml:8: rows[0].b: unknown factor 'b' (known: a, A, seed)",
        "sweep.yaml:8: rows[0]: missing value of A, seed",
        "sweep.yaml:9: seeds: duplicate seed 1",
    ]


def test_too_large_grid_is_rejected_before_generation(tmp_path: Path) -> None:
    factor = "  - {{name: f{}, path: x, between: [0, 1], steps: 10000}}\n"
    text = "scenario: shop.yaml\nfactors:\n" + "".join(factor.format(i) for i in range(9))
    (message,) = mistakes(tmp_path, text)
    assert "settings, more than the maximum of 1,000,000" in message


def test_scenario_error_names_factor(tmp_path: Path) -> None:
    sweep = load_sweep(write_sweep(tmp_path, SWEEP.replace("values: [0, 1]", "values: [-1, 1]")))
    with pytest.raises(ScenarioError) as caught:
        prepare_sweep(sweep)
    (mistake,) = caught.value.mistakes
    assert mistake.source == f"{tmp_path / 'sweep.yaml'}:5: factors[standbys]: -1"
    assert mistake.path == "application.configs.num.standby.replicas"
    assert "must be at least 0" in mistake.message


def test_invalid_value_in_later_setting_is_a_warning(tmp_path: Path) -> None:
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path, BROKEN)))
    assert prepared.run_ms.shape == (8, 2)
    (warning,) = prepared.warnings
    assert 'factors[who]: "missing"' in warning


def test_sweep_does_not_import_code(tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    (tmp_path / "side_effect.py").write_text(f"open({json.dumps(str(marker))}, 'w')")
    sweep = load_sweep(write_sweep(tmp_path, SWEEP + "assignors: ['side_effect:Mine']\n"))
    with pytest.raises(Exception, match="unknown assignor"):
        prepare_sweep(sweep)
    assert not marker.exists()


def test_shipped_sweeps_can_be_prepared() -> None:
    assert list_sweeps()
    for file in list_sweeps():
        sweep = load_sweep(file)
        prepared = prepare_sweep(sweep)
        assert prepared.run_ms.shape == (len(sweep.settings), len(prepared.labels))
        assert not prepared.warnings
