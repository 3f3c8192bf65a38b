"""`assignor-sim frontier`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from assignor_sim.cli import app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["frontier", *map(str, arguments)], env={"COLUMNS": "120"})


MOVING = ("a_partition_changes_rack", "--assignor", "10 to 1")


def test_frontier_marks_kafkas_defaults() -> None:
    result = run(*MOVING)
    assert result.exit_code == 0, result.output
    for text in ("below 1/2", "1/2 to 2", "above 2", "high_availability's default, 10:1", "10 to 1: "):
        assert text in result.stdout


def test_round_and_slack_are_options() -> None:
    first = json.loads(run(*MOVING, "--round", "1", "--format", "json").stdout)
    assert first["round"] == 1
    assert [point["to_ratio"] for point in first["points"]] == [None]
    longest = json.loads(run(*MOVING, "--format", "json").stdout)
    assert len(longest["points"]) == 3
    slack = json.loads(run(*MOVING, "--round", str(longest["round"]), "--slack", "2", "--format", "json").stdout)
    ends = [(front["points"][0]["moves"], front["points"][-1]["remote_partitions"]) for front in (slack, longest)]
    assert ends[0] < ends[1]


def test_configured_costs_are_marked() -> None:
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


def test_figure_is_written(tmp_path: Path) -> None:
    assert run(*MOVING, "-o", tmp_path / "new" / "front.svg").exit_code == 0
    assert "stateful task moves" in (tmp_path / "new" / "front.svg").read_text()


def test_invalid_options_are_rejected() -> None:
    for arguments, message in (
        ((*MOVING, "--round", "99"), "there is no round 99 (rounds: 1 to 8)"),
        ((*MOVING, "-o", "front.gif"), "a figure ends in .png, .svg, .pdf"),
        (("a_partition_changes_rack", "--set", "clients[0].client_rack=false"), "there is no front"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert message in result.stderr
