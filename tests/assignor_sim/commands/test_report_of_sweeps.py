"""`assignor-sim report` of sweeps, alone and beside runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from reports.render.figures.run_figures import RUN_FIGURES
from reports.render.figures.sweep_figures import SWEEP_FIGURES
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.reports.sample_player_runs import PLAYER_MANIFEST, player_runs
from tests.reports.sample_sweep import aggregate, write

pytestmark = pytest.mark.answers


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


URI = "s3a://bucket/weights"


@pytest.fixture
def remote(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the copy of a sweep at a URI, which is made without Spark."""
    directory = write(aggregate(), shell.folder / "copy")

    @contextmanager
    def local_copies(uris: Sequence[str], settings: Mapping[str, str]) -> Iterator[dict[str, Path]]:
        assert (uris, settings) == ([URI], {"spark.hadoop.fs.s3a.access.key": "user"})
        yield {URI: directory}

    monkeypatch.setattr("pipeline.remote_sweeps.local_copies", local_copies)
    return directory


def test_page_of_a_sweep_at_a_uri_names_the_uri(shell: Shell, remote: Path) -> None:
    result = shell("report", URI, URI, "--conf", "spark.hadoop.fs.s3a.access.key=user")
    assert (result.code, result.out, result.err) == (0, "report.html\n", "")
    text = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert 'id="sweep-1-data"' in text
    assert 'id="sweep-2-data"' not in text
    assert str(remote) not in text


def test_unaggregated_sweep_at_a_uri_is_rejected(shell: Shell, remote: Path) -> None:
    (remote / "aggregate" / "summary.json").unlink()
    result = shell("report", URI, "--conf", "spark.hadoop.fs.s3a.access.key=user")
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [f"error: {URI}: not aggregated yet; run: assignor-sim aggregate {URI}"]
