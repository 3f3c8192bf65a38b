"""What the round player is told: small, and nothing of a run is lost on the way."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.comparison import TableError
from reports.render.run_page import player as module
from reports.render.run_page.player import STATES, player_data
from simulator.results.tables import SCHEMAS
from tests.reports.sample_player_runs import OWNERS, STANDBYS, TASKS, player_runs
from tests.reports.sample_runs import HOSTILE, MINUTE_MS, four_assignors

Data = dict[str, Any]


def replayed(run: Data) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """Owner of each task and who stands by, round by round, as the player works it out."""
    names = [client["name"] for client in run["clients"]]
    owner = [-1] * len(run["tasks"])
    copies: set[tuple[int, int]] = set()
    found = []
    for each in run["rounds"]:
        for place in range(0, len(each["own"]), 3):
            owner[each["own"][place]] = each["own"][place + 1]
        copies -= set(zip(each["drop"][::2], each["drop"][1::2], strict=True))
        copies |= set(zip(each["add"][::2], each["add"][1::2], strict=True))
        found.append(
            (tuple(names[at] for at in owner), {run["tasks"][task]: names[client] for task, client in sorted(copies)})
        )
    return found


def test_what_changes_from_round_to_round_adds_up_to_every_round() -> None:
    runs = player_data(player_runs())["runs"]
    assert [run["label"] for run in runs] == list(OWNERS)
    for run in runs:
        assert run["tasks"] == list(TASKS)
        assert replayed(run) == list(zip(OWNERS[run["label"]], STANDBYS[run["label"]], strict=True))


def test_a_round_in_which_nothing_moves_takes_no_room() -> None:
    [calm] = [run for run in player_data(player_runs())["runs"] if run["label"] == "calm"]
    assert calm["rounds"][2]["own"] == []


def test_a_move_carries_its_reason() -> None:
    data = player_data(player_runs())
    eager = data["runs"][0]
    assert eager["rounds"][2]["own"] == [2, 1, eager["why"].index("balance")]
    assert {eager["why"][place] for place in eager["rounds"][1]["own"][2::3]} == {"member_lost"}
    assert data["reasons"]["member_lost"] == "client lost"
    assert eager["rounds"][0]["own"][2::3] == [-1] * 4


def test_of_the_steps_that_a_task_takes_at_one_moment_the_last_is_told() -> None:
    eager = player_data(player_runs())["runs"][0]
    assert [moment[0] for moment in eager["transitions"]] == [
        0,
        9 * MINUTE_MS,
        MINUTE_MS,
        30_000,
        9.5 * MINUTE_MS,
        30_000,
    ]
    first, crash, moved = eager["transitions"][:3]
    names = [client["name"] for client in eager["clients"]]
    told = [
        (task, STATES[code % len(STATES)], code // len(STATES) - 1)
        for task, code in zip(first[1::2], first[2::2], strict=True)
    ]
    assert told == [(n, "running", names.index(client)) for n, client in enumerate(OWNERS["eager"][0])]
    assert crash[1:] == [1, 0, 3, 0]
    assert [STATES[code % len(STATES)] for code in moved[2::2]] == ["restoring", "restoring"]


def test_a_client_knows_its_rack_its_threads_and_when_it_was_there() -> None:
    clients = player_data(player_runs())["runs"][0]["clients"]
    assert clients[1] == {"name": "away", "rack": "az2", "threads": 2, "stays": [[1, 2], [3, None]]}


def test_what_is_known_of_a_move_is_told_with_it() -> None:
    eager, calm = player_data(player_runs())["runs"]
    assert eager["sentences"]["3:2"] == "Balance, first → away: from 2 and 0 tasks per thread to 1 and 1."
    assert set(eager["sentences"]) == {"2:1", "2:3", "3:2"}
    assert set(calm["sentences"]) == {"2:1", "2:3"}


def test_a_cycle_is_told_with_the_steps_that_were_part_of_it() -> None:
    made = player_runs()
    steps = [{**row, "kind": "rack", "cycle": 1} for row in made["reasons"].to_pylist() if row["role"] == "active"]
    made["reasons"] = pa.Table.from_pylist(steps, schema=SCHEMAS["reasons"])
    key = {"scenario": "rack_outage", "assignor": "eager", "seed": 7, "round": 3}
    edge = {**key, "cycle": 1, "edge": 1, "cycle_cost": -8, "cycle_break_even": 5}
    made["cycles"] = pa.Table.from_pylist([edge], schema=SCHEMAS["cycles"])
    told = player_data(made)["runs"][0]["sentences"]["3:2"]
    assert told.startswith("Racks, first → away, in a cycle that reduces cost: total -8")


def test_sentences_that_are_too_many_are_left_to_another_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SENTENCE_BYTES", 10)
    assert [run["sentences"] for run in player_data(player_runs())["runs"]] == [None, None]


def test_a_copy_that_is_to_warm_up_is_told_from_a_standby() -> None:
    eager, calm = player_data(player_runs())["runs"]
    assert [each["warm"] for each in eager["rounds"]] == [[], [], [2, 0]]
    assert [each["warm"] for each in calm["rounds"]] == [[], [], [3, 1]]
    assert eager["rounds"][2]["add"] == [2, 0]


def test_runs_that_are_too_much_for_a_page_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    data = player_data(player_runs())
    assert [run["label"] for run in data["runs"]] == ["eager"]
    assert data["left_out"] == ["calm"]


def test_only_the_first_seed_of_an_assignor_is_played() -> None:
    assert len(player_data(four_assignors())["runs"]) == 4


def test_names_are_made_harmless_before_they_travel() -> None:
    names = dict(zip(("first", "away", "late", "az1", "az2", "0_0", "1_0", "eager"), HOSTILE, strict=False))
    text = json.dumps(player_data(player_runs(names)), ensure_ascii=False)
    assert "\u202e" not in text
    assert "turned around" in text


@pytest.mark.parametrize("name", ["clients", "assignments", "moves", "reasons", "cycles", "task_states"])
def test_a_table_that_the_player_needs_is_named(name: str) -> None:
    made = {key: table for key, table in player_runs().items() if key != name}
    with pytest.raises(TableError, match=f"'{name}' is missing"):
        player_data(made)
