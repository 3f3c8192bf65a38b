"""Who lost and gained which task from a round to the next, and how two assignors differ in one."""

from __future__ import annotations

import json

import pytest

from reports.analysis.runs.round_diff import RoundDiff, diff_assignors, diff_rounds, record
from reports.analysis.runs.run_rows import RunLookupError, select_assignors
from reports.render.terminal.round_diff import draw, summary
from tests.reports.sample_moves import HA, RECORDED, results
from tests.reports.sample_runs import HOSTILE


@pytest.fixture(scope="module")
def second() -> RoundDiff:
    return diff_rounds(results(), "HA", 2)


def test_tasks_that_moved_say_from_where_to_where_and_why_in_the_order_of_their_numbers(second: RoundDiff) -> None:
    assert [(each.task, each.before, each.after, each.reason) for each in second.tasks] == [
        ("0_2", ("a", "b"), ("b", "a"), "promoted"),
        ("0_10", ("b",), ("c",), "member_lost"),
        ("1_0", ("a",), ("a", "c"), None),
    ]
    assert [each.is_move for each in second.tasks] == [True, True, False]


def test_clients_say_what_they_lost_and_gained(second: RoundDiff) -> None:
    assert [(each.client, each.runs, each.stands_by, each.lost, each.gained) for each in second.clients] == [
        ("a", (2, 1), (0, 1), ("0_2",), ()),
        ("b", (1, 1), (1, 0), ("0_10",), ("0_2",)),
        ("c", (0, 1), (0, 1), (), ("0_10",)),
    ]


def test_a_round_that_changed_nothing_differs_in_nothing() -> None:
    diff = diff_rounds(results(), "HA", 3)
    assert not diff.tasks
    assert not any(each.is_change for each in diff.clients)
    assert draw([diff], 80, color=False).endswith("\nNothing changed.\n")


def test_the_first_round_gives_everything_out() -> None:
    diff = diff_rounds(results(), "HA", 1)
    assert [each.before for each in diff.tasks] == [()] * 3
    assert {each.client: each.gained for each in diff.clients} == {"a": ("0_2", "1_0"), "b": ("0_10",)}


def test_two_assignors_are_compared_in_a_round() -> None:
    diff = diff_assignors(results(), ("HA", "sticky"), 1)
    assert [(each.task, each.before, each.after) for each in diff.tasks] == [
        ("0_10", ("b",), (None, "b")),
        ("1_0", ("a",), ("c",)),
    ]
    assert diff.sides == ("HA", "sticky")
    assert summary(diff) == "2 of 3 tasks run elsewhere."
    same = diff_assignors(results({"one": HA, "two": HA}), ("one", "two"), 2)
    assert summary(same) == "Both assign all tasks to the same clients."


def test_what_is_not_there_is_said_with_what_there_is() -> None:
    tables = results()
    with pytest.raises(RunLookupError, match=r"^HA, seed 7, has no round 9 \(rounds 1 to 4\)$"):
        diff_rounds(tables, "HA", 9)
    with pytest.raises(RunLookupError, match=r"^sticky, seed 7, has no round 2 \(rounds 1 to 1\)$"):
        diff_assignors(tables, ("HA", "sticky"), 2)
    with pytest.raises(RunLookupError, match=r"^'ha' is not an assignor of these results \(assignors: HA, sticky\)$"):
        diff_rounds(tables, "ha", 2)
    with pytest.raises(RunLookupError, match=r"^8 is not a seed of HA \(seeds: 7\)$"):
        diff_rounds(tables, "HA", 2, seed=8)
    assert select_assignors(tables, []) == ["HA", "sticky"]
    with pytest.raises(RunLookupError, match="assignors: none"):
        select_assignors(results({}), ["HA"])


def test_a_diff_is_drawn_with_clients_tasks_and_reasons(second: RoundDiff) -> None:
    assert draw([second], 100, color=False) == (
        "HA, seed 7: round 2\n"
        "0:00:02  follow-up\n"
        "2 of 3 tasks moved (1 to a copy, 1 client lost); standbys of 1 more differ.\n"
        "\n"
        "client   active   standby   lost   gained\n"
        "─────────────────────────────────────────\n"
        "a         2 → 1     0 → 1   0_2\n"
        "b             1     1 → 0   0_10   0_2\n"
        "c         0 → 1     0 → 1          0_10\n"
        "\n"
        "task   round 1   round 2   reason\n"
        "────────────────────────────────────────\n"
        "0_2    a (b)     b (a)     to a copy\n"
        "0_10   b         c         client lost\n"
        "1_0    a         a (c)     standbys only\n"
    )


def test_nobody_runs_a_task_is_drawn_as_a_dash() -> None:
    text = draw([diff_assignors(results(), ("HA", "sticky"), 1)], 80, color=False)
    assert "0_10   b    – (b)\n" in text
    assert "why" not in text
    assert "only HA" in text


def test_a_record_is_json_with_the_same_in_fields(second: RoundDiff) -> None:
    flat = json.loads(json.dumps(record(second)))
    assert flat["tasks"][0] == {"task": "0_2", "before": ["a", "b"], "after": ["b", "a"]} | {
        "reason": "promoted",
        "steps": [],
    }
    assert flat["clients"][2]["gained"] == ["0_10"]


def test_how_the_assignor_came_to_a_move_is_told_where_it_was_recorded() -> None:
    diff = diff_rounds(results({RECORDED: HA}), RECORDED, 2)
    steps = ("to b, which has least to do: 1.5 tasks a thread",)
    assert [each.steps for each in diff.tasks] == [steps, (steps[0].replace("to b", "to c"),), ()]
    assert "to a copy: to b, which has least to do: 1.5 tasks a thread\n" in draw([diff], 100, color=False)


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_name_holds_is_drawn_as_text(name: str) -> None:
    text = draw([diff_rounds(results({RECORDED: HA}, a=name), RECORDED, 2)], 400, color=False)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "lost" in text
