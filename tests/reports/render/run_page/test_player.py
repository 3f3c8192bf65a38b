"""The embedded data of the round player."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.comparison import TableError
from reports.render.run_page.player import STATES, player_data
from simulator.results.tables import SCHEMAS
from tests.reports.sample_player_runs import OWNERS, STANDBYS, TASKS, player_runs
from tests.reports.sample_runs import HOSTILE, MINUTE_MS, four_assignors

Data = dict[str, Any]


def replayed(run: Data) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """Return the active client of each task and the client of each standby, by round, as the player computes them."""
    names = [client["name"] for client in run["clients"]]
    owner = [-1] * len(run["tasks"])
    copies: set[tuple[int, int]] = set()
    rounds = []
    for round_ in run["rounds"]:
        for start in range(0, len(round_["own"]), 3):
            owner[round_["own"][start]] = round_["own"][start + 1]
        copies -= set(zip(round_["drop"][::2], round_["drop"][1::2], strict=True))
        copies |= set(zip(round_["add"][::2], round_["add"][1::2], strict=True))
        rounds.append(
            (
                tuple(names[index] for index in owner),
                {run["tasks"][task]: names[client] for task, client in sorted(copies)},
            )
        )
    return rounds


def test_differences_of_rounds_restore_all_placements() -> None:
    runs = player_data(player_runs())["runs"]
    assert [run["label"] for run in runs] == list(OWNERS)
    for run in runs:
        assert run["tasks"] == list(TASKS)
        assert replayed(run) == list(zip(OWNERS[run["label"]], STANDBYS[run["label"]], strict=True))


def test_unchanged_round_has_no_differences() -> None:
    [calm] = [run for run in player_data(player_runs())["runs"] if run["label"] == "calm"]
    assert calm["rounds"][2]["own"] == []


def test_move_has_its_reason() -> None:
    data = player_data(player_runs())
    eager = data["runs"][0]
    assert eager["rounds"][2]["own"] == [2, 1, eager["why"].index("balance")]
    assert {eager["why"][index] for index in eager["rounds"][1]["own"][2::3]} == {"member_lost"}
    assert data["reasons"]["member_lost"] == "client lost"
    assert eager["rounds"][0]["own"][2::3] == [-1] * 4


def test_last_task_state_at_a_time_is_kept() -> None:
    eager = player_data(player_runs())["runs"][0]
    assert [transition[0] for transition in eager["transitions"]] == [
        0,
        9 * MINUTE_MS,
        MINUTE_MS,
        30_000,
        9.5 * MINUTE_MS,
        30_000,
    ]
    first, crash, move = eager["transitions"][:3]
    names = [client["name"] for client in eager["clients"]]
    states = [
        (task, STATES[code % len(STATES)], code // len(STATES) - 1)
        for task, code in zip(first[1::2], first[2::2], strict=True)
    ]
    assert states == [(n, "running", names.index(client)) for n, client in enumerate(OWNERS["eager"][0])]
    assert crash[1:] == [1, 0, 3, 0]
    assert [STATES[code % len(STATES)] for code in move[2::2]] == ["restoring", "restoring"]


def test_client_has_rack_threads_and_stays() -> None:
    clients = player_data(player_runs())["runs"][0]["clients"]
    assert clients[1] == {"name": "away", "rack": "az2", "threads": 2, "stays": [[1, 2], [3, None]]}


def test_moves_have_sentences() -> None:
    eager, calm = player_data(player_runs())["runs"]
    assert eager["sentences"]["3:2"] == "Balance, first → away: from 2 and 0 tasks per thread to 1 and 1."
    assert set(eager["sentences"]) == {"2:1", "2:3", "3:2"}
    assert set(calm["sentences"]) == {"2:1", "2:3"}


def test_cycle_is_explained_with_its_steps() -> None:
    results = player_runs()
    steps = [{**row, "kind": "rack", "cycle": 1} for row in results["reasons"].to_pylist() if row["role"] == "active"]
    results["reasons"] = pa.Table.from_pylist(steps, schema=SCHEMAS["reasons"])
    key = {"scenario": "rack_outage", "assignor": "eager", "seed": 7, "round": 3}
    edge = {**key, "cycle": 1, "edge": 1, "cycle_cost": -8, "cycle_break_even": 5}
    results["cycles"] = pa.Table.from_pylist([edge], schema=SCHEMAS["cycles"])
    sentence = player_data(results)["runs"][0]["sentences"]["3:2"]
    assert sentence.startswith("Racks, first → away, in a cycle: total -8")


def test_sentences_above_size_limit_are_left_out() -> None:
    data = player_data(player_runs(), max_sentence_bytes=10)
    assert [run["sentences"] for run in data["runs"]] == [None, None]


def test_warm_ups_are_distinguished_from_standbys() -> None:
    eager, calm = player_data(player_runs())["runs"]
    assert [round_["warm"] for round_ in eager["rounds"]] == [[], [], [2, 0]]
    assert [round_["warm"] for round_ in calm["rounds"]] == [[], [], [3, 1]]
    assert eager["rounds"][2]["add"] == [2, 0]


def test_runs_above_size_limit_are_named() -> None:
    data = player_data(player_runs(), max_bytes=10)
    assert [run["label"] for run in data["runs"]] == ["eager"]
    assert data["left_out"] == ["calm"]


def test_first_seed_of_each_assignor_is_embedded() -> None:
    assert len(player_data(four_assignors())["runs"]) == 4


def test_control_characters_of_names_are_escaped() -> None:
    names = dict(zip(("first", "away", "late", "az1", "az2", "0_0", "1_0", "eager"), HOSTILE, strict=False))
    text = json.dumps(player_data(player_runs(names)), ensure_ascii=False)
    assert "\u202e" not in text
    assert "turned around" in text


@pytest.mark.parametrize("name", ["clients", "assignments", "moves", "reasons", "cycles", "task_states"])
def test_missing_table_is_rejected(name: str) -> None:
    results = {key: table for key, table in player_runs().items() if key != name}
    with pytest.raises(TableError, match=f"'{name}' is missing"):
        player_data(results)
