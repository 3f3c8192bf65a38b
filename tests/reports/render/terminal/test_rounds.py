"""Rounds in terminals: sparklines, and the changes of each round."""

from __future__ import annotations

import pytest

from reports.render.terminal.rounds import draw, records, sparkline
from tests.reports.sample_moves import HA_ROUNDS, results
from tests.reports.sample_runs import HOSTILE


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([], 5, ""),
        ([0, 0], 5, "▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 8, "▁▂▃▄▅▆▇█"),
        ([0, 1, 1000], 8, "▁▂█"),
        ([None, 3, None], 8, " █ "),
        ([0, 9, 0, 0, 0, 3], 3, "█▁▄"),
        ([1e15, 5e-10], 2, "█▂"),
    ],
)
def test_sparkline_has_a_bar_per_value_and_the_lowest_bar_only_for_zero(
    values: list[float | None], width: int, expected: str
) -> None:
    assert sparkline(values, width) == expected


def test_few_moves_are_listed() -> None:
    text = draw(results(), width=160, color=False)
    assert "0_2 a → b (to a standby or warm-up), 0_10 b → c (client lost), 1 new standby" in text


def test_many_moves_are_counted_by_reason() -> None:
    text = draw(results({"HA": ({f"0_{n}": "a" for n in range(8)}, {f"0_{n}": "b" for n in range(8)})}), width=160)
    assert "8 tasks moved (6 balance, 1 to a standby or warm-up, 1 client lost)" in text


def test_unchanged_rounds_with_the_same_reason_share_a_line() -> None:
    lines = draw(results(), width=120, color=False).splitlines()
    [unchanged] = [line for line in lines if line.lstrip().startswith("3–4 ")]
    assert " ".join(unchanged.split()) == "3–4 0:00:03 follow-up requested by the assignor –"


def test_every_assignor_has_its_verdict_and_rounds() -> None:
    text = draw(results(), width=120, color=False)
    assert "HA, seed 7: stable, 4 rounds\n" in text
    assert "sticky, seed 7: stable, 1 round\n" in text
    assert "sticky" not in draw(results(), ["HA"], width=120, color=False)


def test_metric_that_is_always_zero_is_left_out() -> None:
    text = draw(results(), width=120, color=False)
    assert "active task moves" in text
    assert "tasks not at final client" not in text


def test_records_have_all_columns_of_rounds() -> None:
    rows = records(results())
    assert [(row["assignor"], row["round"]) for row in rows] == [
        *(("HA", n) for n in range(1, len(HA_ROUNDS) + 1)),
        ("sticky", 1),
    ]
    assert "cross_rack_bytes" in rows[0]


def test_lines_fit_width_of_terminal() -> None:
    for width in (40, 80, 120):
        assert max(map(len, draw(results(), width=width, color=False).splitlines())) <= width


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    text = draw(results(a=name), width=200, color=False)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
