"""`assignor-sim sweep --until-significant`: what is checked before Spark starts."""

from __future__ import annotations

import pytest

from tests.assignor_sim.conftest import Shell
from tests.pipeline.sweep.examples import SWEEP, write_sweep


def test_dry_run_names_the_looks(shell: Shell) -> None:
    write_sweep(shell.folder, SWEEP.replace("seeds: 3", "seeds: 20"))
    result = shell("sweep", "sweep.yaml", "--out", "out", "--dry-run", "--until-significant", "active_moves")
    assert (result.code, result.err) == (0, "")
    runs = "shop-sweep: 4 settings × 2 assignors × 20 seeds = 160 runs"
    assert result.out == f"{runs}, or fewer (differences are tested after 8, 16 seeds)\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--between", "settings"], "--between and --baseline-setting need --until-significant METRIC"),
        (
            ["--until-significant", "active_moves", "--between", "settings", "--baseline-setting", "warmups=3"],
            "--baseline-setting warmups=3: no setting of the sweep has these values",
        ),
        (
            ["--until-significant", "active_moves", "--baseline-setting", "warmups=2"],
            "--baseline-setting needs --between settings: assignors are compared in each setting",
        ),
    ],
)
def test_baseline_setting_needs_compared_settings(shell: Shell, options: list[str], message: str) -> None:
    write_sweep(shell.folder, SWEEP.replace("seeds: 3", "seeds: 20"))
    result = shell("sweep", "sweep.yaml", "--out", "out", "--dry-run", *options)
    assert result.code == 2
    assert message in " ".join(result.err.split())


def test_settings_can_be_compared_with_one_assignor(shell: Shell) -> None:
    write_sweep(shell.folder, SWEEP.replace("seeds: 3", "seeds: 20\nassignors: [high_availability]"))
    options = ("--until-significant", "active_moves", "--between", "settings", "--baseline-setting", "warmups=2")
    result = shell("sweep", "sweep.yaml", "--out", "out", "--dry-run", *options, "--baseline-setting", "standbys=1")
    assert (result.code, result.err) == (0, "")
    assert "80 runs, or fewer (differences are tested after 8, 16 seeds)" in result.out


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("active_move", "unknown metric 'active_move'; did you mean 'active_moves'?"),
        ("active_moves", "stops after 8 seeds or more, but the sweep has 3"),
    ],
)
def test_option_that_cannot_stop_anything_is_an_error(shell: Shell, metric: str, message: str) -> None:
    write_sweep(shell.folder)
    result = shell("sweep", "sweep.yaml", "--out", "out", "--until-significant", metric)
    assert result.code == 2
    assert result.err.startswith("error: --until-significant")
    assert message in " ".join(result.err.split())
    assert not (shell.folder / "out").exists()
