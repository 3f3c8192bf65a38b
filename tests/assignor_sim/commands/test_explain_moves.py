"""`assignor-sim explain` without --task: the moves of all tasks."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from reports.analysis.formatting import format_duration
from tests.assignor_sim.commands.test_explain import RACK_AWARE, write
from tests.assignor_sim.conftest import SMALL, Shell

pytestmark = pytest.mark.answers


@pytest.fixture
def results(shell: Shell) -> Path:
    """Return results whose three clients move tasks to a fourth, with racks."""
    shell.write("small.yaml", SMALL)
    write(shell.folder / "results", shell.folder / "small.yaml", RACK_AWARE)
    return shell.folder / "results"


def lists(shell: Shell, *arguments: str) -> list[dict[str, Any]]:
    result = shell("explain", "results", "--format", "json", *arguments)
    assert (result.code, result.err) == (0, "")
    records: list[dict[str, Any]] = json.loads(result.out)
    return records


def rows(results: Path, table: str, assignor: str) -> list[dict[str, Any]]:
    return [row for row in pq.read_table(results / f"{table}.parquet").to_pylist() if row["assignor"] == assignor]


def test_listed_moves_are_those_of_the_results(shell: Shell, results: Path) -> None:
    columns = ("round", "role", "task", "from_client", "to_client", "reason")
    for record in lists(shell):
        [run] = rows(results, "runs", record["assignor"])
        listed = [tuple(move[column] for column in columns) for move in record["moves"]]
        assert listed
        assert sorted(listed, key=str) == sorted(
            (tuple(row[column] for column in columns) for row in rows(results, "moves", record["assignor"])), key=str
        )
        assert sum(move["role"] == "active" for move in record["moves"]) == run["active_moves"]
        assert sum(move["role"] == "standby" for move in record["moves"]) == run["standby_moves"]
        assert sum(move["downtime_ms"] or 0 for move in record["moves"]) == run["downtime_ms"]
        assert record["rounds"] == run["rebalances"] - 1
        assert all(move["steps"] for move in record["moves"])


CRASH = """\
name: crash
cluster: {brokers: {count: 1}, topics: [{name: t, partitions: 2, bytes_per_s: 2 kB/s}]}
application:
  id: app
  configs: {num.standby.replicas: 1}
  subtopologies: [{sources: [t], stores: [{name: s, size: 2 MB}]}]
clients: [{name: c, count: 2}]
events: [{at: 10m, crash: {clients: [c-0], down: 10m}}]
duration: 30m
"""


def test_downtime_counts_from_when_the_task_stopped(shell: Shell) -> None:
    shell.write("crash.yaml", CRASH)
    write(shell.folder / "results", shell.folder / "crash.yaml", (), "high_availability")
    [record] = lists(shell, "--round", "2")
    [move] = record["moves"]
    # The crash was at 10 minutes; then the session timed out and the group rebalanced.
    assert move["downtime_ms"] == move["runs_at_ms"] - 600_000 > 46_500
    assert record["downtimes"] == [{"round": 2, "downtime_ms": move["downtime_ms"], "stayed_ms": 0}]
    [whole] = lists(shell)
    [run] = rows(shell.folder / "results", "runs", "high_availability")
    assert sum(downtime["downtime_ms"] for downtime in whole["downtimes"]) == run["downtime_ms"]
    assert "1 move; downtime 46.8 s" in shell("explain", "results", "--round", "2").out


def test_costs_of_moves_agree_with_the_explanation_of_each_task(shell: Shell, results: Path) -> None:
    [record] = lists(shell, "--assignor", "sticky")
    for task in {move["task"] for move in record["moves"]}:
        result = shell("explain", "results", "--format", "json", "--assignor", "sticky", "--task", task)
        [explanation] = json.loads(result.out)
        expected = {
            (move["round"], move["role"], move["to_client"]): (move["downtime_ms"], move["runs_at_ms"])
            for move in explanation["moves"]
            if move["round"] > 1
        }
        assert expected == {
            (move["round"], move["role"], move["to_client"]): (move["downtime_ms"], move["runs_at_ms"])
            for move in record["moves"]
            if move["task"] == task
        }


@pytest.mark.parametrize("width", [80, 60])
def test_text_has_a_row_per_move_within_the_terminal(shell: Shell, results: Path, width: int) -> None:
    [record] = lists(shell, "--assignor", "high_availability")
    result = shell("explain", "results", "--assignor", "high_availability", COLUMNS=str(width))
    text, _, command = result.out.partition("\nTo show each step of a move:\n")
    assert all(len(line) <= width for line in text.splitlines())
    lines = text.splitlines()
    for move in record["moves"]:
        place = f"{move['from_client']} → {move['to_client']}" if move["from_client"] else f"on {move['to_client']}"
        [line, *_] = [line for line in lines if line.startswith(f"{move['task']} ") and place in line]
        if move["downtime_ms"]:
            assert f" {format_duration(move['downtime_ms'])} " in line
    assert shell(*shlex.split(command)[1:]).out.startswith(f"{record['moves'][0]['task']} in small")


def test_first_round_lists_the_initial_assignment(shell: Shell, results: Path) -> None:
    [record] = lists(shell, "--assignor", "sticky", "--round", "1")
    active = [move for move in record["moves"] if move["role"] == "active"]
    assert [move["task"] for move in active] == [f"0_{partition}" for partition in range(6)]
    assert all(move["from_client"] is None for move in active)
    assert "6 active and 6 standby moves in round 1." in shell("explain", "results", "--round", "1").out


def test_round_is_the_part_of_the_run(shell: Shell, results: Path) -> None:
    [record] = lists(shell, "--assignor", "high_availability")
    for number in range(2, record["rounds"] + 2):
        [single] = lists(shell, "--assignor", "high_availability", "--round", str(number))
        assert single["moves"] == [move for move in record["moves"] if move["round"] == number]


def test_run_without_a_further_rebalance_has_no_moves(shell: Shell) -> None:
    text = SMALL.replace("events:\n  - {at: 30m, scale_out: {clients: late}}\n", "")
    shell.write("quiet.yaml", text.replace("  - {name: late, count: 1, racks: [az1], threads: 2, starts: false}\n", ""))
    write(shell.folder / "results", shell.folder / "quiet.yaml", (), "sticky")
    result = shell("explain", "results")
    assert result.out == (
        "sticky, seed 1: 0 active and 0 standby moves in 0 rebalances after the initial assignment of 6 tasks.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--round", "99"), "error: no round 99 of high_availability (rounds: 1 to "),
        (("--seed", "9"), "error: no seed 9 of high_availability (seeds: 1)"),
        (("--assignor", "unknown"), "error: no assignor 'unknown' in these results"),
    ],
)
def test_unknown_round_seed_or_assignor_is_rejected(
    shell: Shell, results: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = shell("explain", "results", *arguments)
    assert result.code == 2
    assert message in result.err
