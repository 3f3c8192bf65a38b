"""Settings of grids, random samples and Latin hypercubes."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.sweeps.design import DesignEntry, FactorEntry, count_settings, generate_settings, load_sweep
from scenarios.sweeps.prepared import prepare_sweep

RANGE = FactorEntry(name="load", path=["x"], between=[1.0, 1000.0], scale="log")
LEVELS = FactorEntry(name="standbys", path=["y"], values=[0, 1, 2])
WHOLE = FactorEntry(name="warmups", path=["z"], between=[1.0, 8.0], whole=True, steps=8)


@pytest.mark.parametrize("number", [2, 7, 100])
def test_latin_hypercube_uses_every_strip_once(number: int) -> None:
    drawn = generate_settings(DesignEntry(latin_hypercube=number), [RANGE, LEVELS])
    assert len(drawn) == number
    strips = sorted(1000 ** (place / number) for place in range(number + 1))
    for low, high, value in zip(strips[:-1], strips[1:], sorted(value for value, _ in drawn), strict=True):
        assert low * (1 - 1e-5) <= value <= high * (1 + 1e-5), "six digits are kept"
    counts = [sum(level == value for _, value in drawn) for level in (0, 1, 2)]
    assert max(counts) - min(counts) <= 1


def test_random_settings_stay_in_range_and_differ_by_seed() -> None:
    drawn = generate_settings(DesignEntry(random=200), [RANGE, LEVELS, WHOLE])
    assert all(1 <= load <= 1000 and standbys in (0, 1, 2) for load, standbys, _ in drawn)
    assert {warmups for *_, warmups in drawn} == set(range(1, 9))
    below = sum(load < 1000**0.5 for load, *_ in drawn)
    assert 70 < below < 130, "draws are uniform in the logarithm"
    assert drawn != generate_settings(DesignEntry(random=200, seed=2), [RANGE, LEVELS, WHOLE])


def test_values_of_a_factor_do_not_depend_on_other_factors() -> None:
    alone = generate_settings(DesignEntry(random=20), [RANGE])
    together = generate_settings(DesignEntry(random=20), [LEVELS, RANGE])
    assert [load for (load,) in alone] == [load for _, load in together]


def test_grid_steps_include_both_ends_of_range() -> None:
    assert generate_settings(DesignEntry(grid=True), [WHOLE]) == [(number,) for number in range(1, 9)]
    steps = FactorEntry(name="load", path=["x"], between=[1.0, 100.0], scale="log", steps=3)
    assert generate_settings(DesignEntry(grid=True), [steps]) == [(1.0,), (10.0,), (100.0,)]


def test_sweep_without_factors_has_one_setting() -> None:
    for design in (DesignEntry(grid=True), DesignEntry(random=5)):
        assert generate_settings(design, []) == [()]
    assert count_settings(DesignEntry(grid=True), []) == 1


def test_one_assignor_or_setting_is_counted_in_the_singular(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        "scenario: cold_start\nassignors: [high_availability]\n"
        "factors: [{name: standbys, path: application.configs.num.standby.replicas, values: [1]}]\n",
        encoding="utf-8",
    )
    assert str(prepare_sweep(load_sweep(file))) == "one: 1 setting × 1 assignor × 1 seed = 1 run"
