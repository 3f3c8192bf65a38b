"""`assignor-sim frontier`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from assignor_sim.cli import app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["frontier", *map(str, arguments)], env={"COLUMNS": "120"})


MOVING = ("a_partition_changes_rack", "--assignor", "10 to 1")


def test_the_front_is_printed_with_kafkas_defaults_on_it() -> None:
    ended = run(*MOVING)
    assert ended.exit_code == 0, ended.output
    for text in ("below 1/2", "1/2 to 2", "above 2", "high_availability's default, 10:1", "10 to 1: "):
        assert text in ended.stdout


def test_as_json_every_round_can_be_asked_for() -> None:
    front = json.loads(run(*MOVING, "--round", "1", "--format", "json").stdout)
    assert front["round"] == 1
    assert [point["to_ratio"] for point in front["points"]] == [None]
    longest = json.loads(run(*MOVING, "--format", "json").stdout)
    assert len(longest["points"]) == 3
    loose = json.loads(run(*MOVING, "--round", str(longest["round"]), "--slack", "2", "--format", "json").stdout)
    ends = [(front["points"][0]["moves"], front["points"][-1]["remote_partitions"]) for front in (loose, longest)]
    assert ends[0] < ends[1]


def test_costs_that_are_configured_are_marked() -> None:
    front = json.loads(
        run(
            "a_partition_changes_rack",
            "--set",
            "application.configs.rack.aware.assignment.traffic_cost=3",
            "--set",
            "application.configs.rack.aware.assignment.non_overlap_cost=4",
            "--assignor",
            "high_availability",
            "--format",
            "json",
        ).stdout
    )
    assert any("configured, 3:4" in point["marks"] for point in front["points"])


def test_a_figure_is_written(tmp_path: Path) -> None:
    assert run(*MOVING, "-o", tmp_path / "new" / "front.svg").exit_code == 0
    assert "stateful task moves" in (tmp_path / "new" / "front.svg").read_text()


def test_what_cannot_be_is_told() -> None:
    for arguments, message in (
        ((*MOVING, "--round", "99"), "there is no round 99 (rounds: 1 to 8)"),
        ((*MOVING, "-o", "front.gif"), "a figure ends in .png, .svg, .pdf"),
        (("a_partition_changes_rack", "--set", "clients[0].client_rack=false"), "there is no front"),
    ):
        ended = run(*arguments)
        assert ended.exit_code == 2, arguments
        assert message in ended.stderr
