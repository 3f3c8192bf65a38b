"""The command `incident`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, CONSUMER_FOLDER, EXAMPLE

SOURCE = ("incident", "--from", str(EXAMPLE), "--group", CLASSIC)


def test_report_is_one_screen(shell: Shell) -> None:
    result = shell(*SOURCE)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert len(lines) < 60
    assert "high_availability returns all 16 recorded assignments, task for task." in lines


def test_task_has_its_history(shell: Shell) -> None:
    result = shell(*SOURCE, "--task", "1_3")
    assert result.code == 0
    assert "shop-two-1 → shop-one; standbys: shop-two-1" in result.out
    assert "stays on shop-one, which is caught up (lag 0; acceptable: 10,000)" in result.out


def test_unknown_task_is_rejected(shell: Shell) -> None:
    result = shell(*SOURCE, "--task", "9_9")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: --task: '9_9' is not a recorded task of 'shop' (0_0 to 3_3)\n"


@pytest.mark.parametrize(
    ("source", "group", "clients"),
    [(EXAMPLE, CLASSIC, "shop-four, shop-one, "), (CONSUMER_FOLDER, "cooperative", "")],
)
def test_rack_pattern_without_a_client_is_rejected(shell: Shell, source: Path, group: str, clients: str) -> None:
    arguments = ("incident", "--from", str(source), "--group", group, "--rack", "none-*=az1")
    result = shell(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: --rack 'none-*=az1': no client matches 'none-*' (clients: {clients}")


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_malformed_time_is_rejected(shell: Shell, option: str) -> None:
    result = shell(*SOURCE, option, "last night")
    assert (result.code, result.err) == (2, f"error: {option}: 'last night' is not a time such as '2026-11-23 02:00'\n")


def test_window_is_read_in_utc_or_with_its_offset(shell: Shell) -> None:
    plain = shell(*SOURCE, "--since", "2026-11-25 21:20:00", "--format", "json")
    offset = shell(*SOURCE, "--since", "2026-11-25T23:20:00+02:00", "--format", "json")
    assert plain.out == offset.out
    assert json.loads(plain.out)["rebalance_count"] == 9


def test_csv_has_all_rebalances(shell: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(shell(*SOURCE, "--format", "csv").out)))
    assert [int(row["number"]) for row in rows] == list(range(2, 18))
    assert sum(int(row["active_moves"]) for row in rows) == 100


def test_json_of_a_task_has_the_steps_of_its_moves(shell: Shell) -> None:
    rows = json.loads(shell(*SOURCE, "--task", "1_3", "--format", "json").out)
    assert len(rows) == 6
    assert all(row["steps"] for row in rows)


def test_scenario_of_the_night_is_written_and_runs(shell: Shell) -> None:
    assert shell(*SOURCE, "-o", "night.yaml").code == 0
    result = shell("run", "night.yaml", "--format", "json")
    assert result.code == 0
    assert json.loads(result.out)[0]["rebalances"] == 15


def test_unknown_assignor_and_path_are_rejected(shell: Shell) -> None:
    assert "unknown assignor 'nope'" in shell(*SOURCE, "--assignor", "nope").err
    unknown = shell(*SOURCE, "--set", "application.configs.nope=1")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)


def test_wrong_group_names_the_partition(shell: Shell) -> None:
    result = shell("incident", "--from", str(EXAMPLE), "--group", "payments")
    assert result.code == 2
    assert "are in partition" in result.err


def test_page_of_the_night_compares_another_assignor_by_default(shell: Shell) -> None:
    printed = shell(*SOURCE, "--page", "night.html").out
    assert "sticky_task_assignor" in printed
    page = (shell.folder / "night.html").read_text(encoding="utf-8")
    assert "<title>shop: a past night</title>" in page
    assert "sticky_task_assignor would have moved 13 active tasks" in page
    chosen = shell(*SOURCE, "--page", "night.html", "--set", "application.configs.num.standby.replicas=2").out
    assert "sticky_task_assignor" not in chosen
