"""Rounds in the terminal: sparklines and what each round changed."""

from __future__ import annotations

import pytest

from reports.render.terminal.rounds import draw, records
from reports.render.terminal.sparkline import sparkline
from tests.reports.sample_moves import HA, results
from tests.reports.sample_runs import HOSTILE


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
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
def test_a_sparkline_has_a_bar_for_each_value_and_the_lowest_for_nothing_alone(
    values: list[float | None], width: int, drawn: str
) -> None:
    assert sparkline(values, width) == drawn


def test_few_moves_of_a_round_are_told_one_by_one() -> None:
    text = draw(results(), width=120, color=False)
    assert "0_2 a → b (to a copy), 0_10 b → c (client lost), 1 new standby" in text


def test_many_moves_are_counted_by_their_reasons() -> None:
    text = draw(results({"HA": ({f"0_{n}": "a" for n in range(8)}, {f"0_{n}": "b" for n in range(8)})}), width=120)
    assert "8 tasks moved (6 balance, 1 to a copy, 1 client lost)" in text


def test_rounds_that_change_nothing_for_the_same_reason_stand_in_one_line() -> None:
    lines = draw(results(), width=120, color=False).splitlines()
    [quiet] = [line for line in lines if line.lstrip().startswith("3–4 ")]
    assert quiet.split() == ["3–4", "0:00:03", "follow-up", "–"]


def test_every_assignor_has_its_verdict_and_its_rounds() -> None:
    text = draw(results(), width=120, color=False)
    assert "HA, seed 7: stable, 4 rounds\n" in text
    assert "sticky, seed 7: stable, 1 round\n" in text
    assert "sticky" not in draw(results(), ["HA"], width=120, color=False)


def test_a_figure_that_is_nothing_throughout_is_left_out() -> None:
    text = draw(results(), width=120, color=False)
    assert "tasks moved" in text
    assert "tasks not at final client" not in text


def test_records_have_every_column_of_the_rounds() -> None:
    rows = records(results())
    assert [(row["assignor"], row["round"]) for row in rows] == [
        *(("HA", n) for n in range(1, len(HA) + 1)),
        ("sticky", 1),
    ]
    assert "cross_rack_bytes" in rows[0]


def test_lines_are_no_longer_than_the_terminal_is_wide() -> None:
    for width in (40, 80, 120):
        assert max(map(len, draw(results(), width=width, color=False).splitlines())) <= width


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_name_holds_is_drawn_as_text(name: str) -> None:
    text = draw(results(a=name), width=200, color=False)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
