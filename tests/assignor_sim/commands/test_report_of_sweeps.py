"""`assignor-sim report` of sweeps, alone and beside runs."""

from __future__ import annotations

from reports.render.figures.run_figures import RUN_FIGURES
from reports.render.figures.sweep_figures import SWEEP_FIGURES
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.reports.sample_player_runs import PLAYER_MANIFEST, player_runs
from tests.reports.sample_sweep import aggregate, write


def test_page_of_a_sweep_has_no_player(shell: Shell) -> None:
    write(aggregate(), shell.folder / "weights")
    result = shell("report", "weights", "-o", "weights.html")
    assert (result.code, result.out, result.err) == (0, "weights.html\n", "")
    text = (shell.folder / "weights.html").read_text(encoding="utf-8")
    assert 'id="sweep-1-data"' in text
    assert 'id="player-data"' not in text


def test_runs_and_sweeps_share_a_page_and_a_figure_directory(shell: Shell) -> None:
    write(aggregate(), shell.folder / "weights")
    write_results(shell.folder / "first", player_runs(), PLAYER_MANIFEST)
    assert shell("report", "weights", "first", "--figures", "drawn", "--figure-format", "svg").code == 0
    text = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert 'id="sweep-1-data"' in text
    assert 'id="player-data"' in text
    expected = {f"{draw.__name__}.svg" for draw in RUN_FIGURES}
    expected |= {f"sweep-1-{draw.__name__}.svg" for draw in SWEEP_FIGURES}
    assert {path.name for path in (shell.folder / "drawn").iterdir()} == expected


def test_unaggregated_sweep_is_rejected(shell: Shell) -> None:
    directory = write(aggregate(), shell.folder / "weights")
    (directory / "aggregate" / "summary.json").unlink()
    result = shell("report", "weights")
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == ["error: weights: not aggregated yet; run: assignor-sim aggregate weights"]
