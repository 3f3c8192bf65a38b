"""Diffs between two rounds of a run, and between two assignors in a round."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reports.analysis.runs.round_diff import RoundDiff, TaskChange, diff_assignors, diff_rounds, record
from reports.analysis.runs.run_rows import RunLookupError, select_assignors
from reports.render.report_formats import report_text
from reports.render.round_diff import diffs_report, summary
from tests.reports.sample_moves import HA_ROUNDS, RECORDED, results
from tests.reports.sample_runs import HOSTILE


@pytest.fixture(scope="module")
def second_round() -> RoundDiff:
    return diff_rounds(results(), "HA", 2)


def draw(diff: RoundDiff, width: int) -> str:
    return report_text(diffs_report([diff]), width, color=False)


def test_moved_tasks_have_source_target_and_reason_in_natural_order(second_round: RoundDiff) -> None:
    assert [(task.task, task.before, task.after, task.reason) for task in second_round.tasks] == [
        ("0_2", ("a", "b"), ("b", "a"), "promoted"),
        ("0_10", ("b",), ("c",), "member_lost"),
        ("1_0", ("a",), ("a", "c"), None),
    ]
    assert [task.is_move for task in second_round.tasks] == [True, True, False]


def test_clients_have_lost_and_gained_tasks(second_round: RoundDiff) -> None:
    assert [
        (client.client, client.runs, client.stands_by, client.lost, client.gained) for client in second_round.clients
    ] == [
        ("a", (2, 1), (0, 1), ("0_2",), ()),
        ("b", (1, 1), (1, 0), ("0_10",), ("0_2",)),
        ("c", (0, 1), (0, 1), (), ("0_10",)),
    ]


def test_round_without_changes_has_empty_diff() -> None:
    diff = diff_rounds(results(), "HA", 3)
    assert not diff.tasks
    assert not any(client.is_change for client in diff.clients)
    assert "\n– Nothing changed.\n" in draw(diff, 80)


def test_first_round_assigns_all_tasks() -> None:
    diff = diff_rounds(results(), "HA", 1)
    assert [task.before for task in diff.tasks] == [()] * 3
    assert {client.client: client.gained for client in diff.clients} == {"a": ("0_2", "1_0"), "b": ("0_10",)}


def test_two_assignors_are_compared_in_same_round() -> None:
    diff = diff_assignors(results(), ("HA", "sticky"), 1)
    assert [(task.task, task.before, task.after) for task in diff.tasks] == [
        ("0_10", ("b",), (None, "b")),
        ("1_0", ("a",), ("c",)),
    ]
    assert diff.sides == ("HA", "sticky")
    assert summary(diff) == "2 of 3 tasks run elsewhere."
    equal = diff_assignors(results({"one": HA_ROUNDS, "two": HA_ROUNDS}), ("one", "two"), 2)
    assert summary(equal) == "Both assign all tasks to the same clients."


def test_unknown_round_assignor_or_seed_is_rejected() -> None:
    tables = results()
    with pytest.raises(RunLookupError, match=r"^no round 9 of HA, seed 7 \(rounds: 1 to 4\)$"):
        diff_rounds(tables, "HA", 9)
    with pytest.raises(RunLookupError, match=r"^no round 2 of sticky, seed 7 \(rounds: 1 to 1\)$"):
        diff_assignors(tables, ("HA", "sticky"), 2)
    with pytest.raises(RunLookupError, match=r"^no assignor 'ha' in these results \(assignors: HA, sticky\)$"):
        diff_rounds(tables, "ha", 2)
    with pytest.raises(RunLookupError, match=r"^no seed 8 of HA \(seeds: 7\)$"):
        diff_rounds(tables, "HA", 2, seed=8)
    assert select_assignors(tables, []) == ["HA", "sticky"]
    with pytest.raises(RunLookupError, match="assignors: none"):
        select_assignors(results({}), ["HA"])


def test_diff_text_shows_clients_tasks_and_reasons(second_round: RoundDiff) -> None:
    assert draw(second_round, 100) == (
        "HA, seed 7: round 2\n"
        "– 2 of 3 tasks moved (1 to a standby or warm-up, 1 client lost); standbys of 1 more differ.\n"
        "– 0:00:02, follow-up requested by the assignor\n"
        "\n"
        "client   active   standby   lost   gained\n"
        "─────────────────────────────────────────\n"
        "a         2 → 1     0 → 1   0_2\n"
        "b             1     1 → 0   0_10   0_2\n"
        "c         0 → 1     0 → 1          0_10\n"
        "\n"
        "task   round 1   round 2   reason\n"
        "──────────────────────────────────────────────────\n"
        "0_2    a (b)     b (a)     to a standby or warm-up\n"
        "0_10   b         c         client lost\n"
        "1_0    a         a (c)     standbys only\n"
    )


def test_task_without_active_client_is_drawn_as_a_dash() -> None:
    text = draw(diff_assignors(results(), ("HA", "sticky"), 1), 80)
    assert "0_10   b    – (b)\n" in text
    assert "reason" not in text
    assert "only HA" in text


def test_record_is_json(second_round: RoundDiff) -> None:
    parsed = json.loads(json.dumps(record(second_round)))
    assert parsed["tasks"][0] == {"task": "0_2", "before": ["a", "b"], "after": ["b", "a"]} | {
        "reason": "promoted",
        "steps": [],
    }
    assert parsed["clients"][2]["gained"] == ["0_10"]


def test_recorded_decision_steps_are_shown() -> None:
    diff = diff_rounds(results({RECORDED: HA_ROUNDS}), RECORDED, 2)
    steps = ("to b, the least loaded client: 1.5 tasks per thread",)
    assert [task.steps for task in diff.tasks] == [steps, (steps[0].replace("to b", "to c"),), ()]
    assert "to a standby or warm-up: to b, the least loaded client: 1.5 tasks per thread\n" in draw(diff, 140)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    text = draw(diff_rounds(results({RECORDED: HA_ROUNDS}, a=name), RECORDED, 2), 400)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "lost" in text


def test_initial_assignment_is_named_and_steps_without_a_reason_start_without_a_colon() -> None:
    change = TaskChange("0_0", (), ("a",), None, ("round-robin placed it on a",))
    initial = replace(diff_rounds(results(), "HA", 2), tasks=(change,), clients=(), num_tasks=1)
    text = draw(initial, 100)
    assert "1 of 1 tasks assigned for the first time." in text
    assert "a         round-robin placed it on a\n" in text


def test_each_time_of_two_assignors_has_its_label() -> None:
    lines = draw(diff_assignors(results(), ("HA", "sticky"), 1), 80).splitlines()
    assert [line.split(": ")[0] for line in lines[2:4]] == ["– HA", "– sticky"]
