"""`assignor-sim report` of directories of sweeps, alone and beside runs."""

from __future__ import annotations

from reports.render.figures.run_figures import RUN_FIGURES
from reports.render.figures.sweep_figures import SWEEP_FIGURES
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST
from tests.reports.sample_sweep import aggregate, write


def test_a_page_is_made_of_a_sweep(shell: Shell) -> None:
    write(aggregate(), shell.folder / "weights")
    ended = shell("report", "weights", "-o", "weights.html")
    assert (ended.code, ended.out, ended.err) == (0, "weights.html\n", "")
    text = (shell.folder / "weights.html").read_text(encoding="utf-8")
    assert 'id="sweep-1-data"' in text
    assert 'id="player-data"' not in text


def test_runs_and_sweeps_make_one_page_and_all_their_figures(shell: Shell) -> None:
    write(aggregate(), shell.folder / "weights")
    write_results(shell.folder / "first", player_runs(), MANIFEST)
    assert shell("report", "weights", "first", "--figures", "drawn", "--figure-format", "svg").code == 0
    text = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert 'id="sweep-1-data"' in text
    assert 'id="player-data"' in text
    expected = {f"{draw.__name__}.svg" for draw in RUN_FIGURES}
    expected |= {f"sweep-1-{draw.__name__}.svg" for draw in SWEEP_FIGURES}
    assert {path.name for path in (shell.folder / "drawn").iterdir()} == expected


def test_a_sweep_of_which_nothing_is_worked_out_is_one_message(shell: Shell) -> None:
    directory = write(aggregate(), shell.folder / "weights")
    (directory / "aggregate" / "summary.json").unlink()
    ended = shell("report", "weights")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == ["weights: not aggregated yet; run: assignor-sim aggregate weights"]
