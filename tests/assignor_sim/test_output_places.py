"""Where `--out` writes: what a link points to, never over a link, nowhere for an address or a name that is too long."""

from __future__ import annotations

import pytest

from tests.assignor_sim.conftest import SMALL, Shell

pytestmark = pytest.mark.answers


def test_results_are_written_to_what_a_link_points_to(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    (shell.folder / "real").mkdir()
    link = shell.folder / "latest"
    link.symlink_to("real")
    for _ in range(2):
        assert shell("run", "small.yaml", "--out", "latest").code == 0
        assert link.is_symlink()
        assert (shell.folder / "real" / "manifest.json").is_file()
    assert sorted(path.name for path in shell.folder.iterdir()) == ["latest", "real", "small.yaml"]


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("dangling", "dangling: cannot be written: "),
        ("/", "/: exists and is not a result directory; choose another --out"),
        ("s3://bucket/runs", "is not a local folder, but an address (s3:); choose another --out"),
    ],
)
def test_impossible_places_are_refused_before_the_simulation(shell: Shell, out: str, problem: str) -> None:
    shell.write("small.yaml", SMALL)
    (shell.folder / "dangling").symlink_to("nowhere/deep")
    result = shell("run", "small.yaml", "--out", out)
    assert result.code == 2
    assert problem in result.err
    assert sorted(path.name for path in shell.folder.iterdir()) == ["dangling", "small.yaml"]


@pytest.mark.parametrize("command", [("run", "cold_start", "--out"), ("validate",), ("init",)])
def test_name_that_is_too_long_is_refused(process_shell: Shell, command: tuple[str, ...]) -> None:
    result = process_shell(*command, "x" * 300)
    assert result.code == 2
    assert result.err.rstrip().endswith("xxx…: file name too long; choose a shorter one")
    assert "Traceback" not in result.err
