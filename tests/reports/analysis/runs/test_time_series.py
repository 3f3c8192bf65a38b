"""Figures over time, before they are drawn."""

from __future__ import annotations

from reports.analysis.runs.time_series import EventMarker, cross_rack_rate, displaced_tasks, events, series
from reports.render.drawing.event_labels import LANES, place_labels
from tests.reports.sample_runs import MINUTE_MS, run_rounds, tables


def test_the_value_of_a_round_holds_until_the_next() -> None:
    [line] = series(tables([{}], run_rounds("sticky", [(0, 40e6, 8), (10, 30e6, 0)])), cross_rack_rate)
    assert line.at_ms == line.rounds_ms == (0, 10 * MINUTE_MS)
    assert [line.at(minute * MINUTE_MS) for minute in (0, 9, 10, 99)] == [40e6, 40e6, 30e6, 30e6]
    assert line.at(-1) is None
    assert not line.varies
    assert line.until_ms == 60 * MINUTE_MS


def test_short_rounds_have_the_rate_of_the_time_up_to_the_end_of_the_next_long_one() -> None:
    lengths = ((0, 600), (600, 600), (600, 603), (603, 1203), (1203, 1204))
    rounds = [
        {"round": number, "at_ms": 1000 * at, "until_ms": 1000 * until, "cross_rack_bytes": 1e6 * number}
        for number, (at, until) in enumerate(lengths)
    ]
    assert cross_rack_rate(rounds) == [0, *[1e6 * (1 + 2 + 3) / 603] * 3, 4e6]
    assert cross_rack_rate([{**rounds[1], "cross_rack_bytes": None}, rounds[3]]) == [None, None]


def test_a_round_without_length_has_no_rate() -> None:
    assert cross_rack_rate([{"at_ms": 5, "until_ms": 5, "cross_rack_bytes": 0.0}]) == [None]


def test_seeds_become_one_line_with_median_and_range() -> None:
    rounds = [
        row
        for seed, minute in ((1, 10), (2, 20), (3, 30))
        for row in run_rounds("sticky", [(minute - 10, 4.0, 9), (minute, 1.0, 0)], seed=seed)
    ]
    [line] = series(tables([{"seed": seed} for seed in (1, 2, 3)], rounds), displaced_tasks)
    assert [moment // MINUTE_MS for moment in line.at_ms] == [0, 10, 20, 30]
    assert line.values == (9, 4.5, 0, 0)
    assert line.least == (9, 0, 0, 0)
    assert line.most == (9, 9, 9, 0)
    assert [moment // MINUTE_MS for moment in line.rounds_ms] == [0, 10]


def test_assignors_keep_their_order_and_their_place_without_rounds() -> None:
    made = tables(
        [{"assignor": name, "verdict": "failed" if name == "z" else "stable"} for name in "zab"],
        run_rounds("b", [(0, 1.0, 0)]),
    )
    lines = series(made, displaced_tasks)
    assert [(line.label, line.at_ms, line.failed) for line in lines] == [
        ("z", (), True),
        ("a", (), False),
        ("b", (0,), False),
    ]


def test_scenarios_are_named_where_there_are_several() -> None:
    lines = series(tables([{"scenario": "one"}, {"scenario": "two"}], []), displaced_tasks)
    assert [line.label for line in lines] == ["one: sticky", "two: sticky"]


def test_what_is_not_known_is_no_number() -> None:
    [line] = series(tables([{}], run_rounds("sticky", [(0, None, 1), (5, 2.0, 0)])), cross_rack_rate)
    assert line.values == (None, 2.0)


def test_events_are_those_of_one_run_and_one_moment_is_one() -> None:
    same = [{"at_ms": 9, "event": "broker 3 down"}, {"at_ms": 9, "event": "client-5 down"}, {"at_ms": 4, "event": "x"}]
    made = tables([{}], [], [{"assignor": name, **event} for name in ("a", "b") for event in same])
    assert events(made) == [EventMarker(4, ("x",)), EventMarker(9, ("broker 3 down", "client-5 down"))]


def test_events_close_together_share_a_name() -> None:
    [label] = place_labels([EventMarker(500, ("a", "b")), EventMarker(503, ("c",))], 1000, 500, 28)
    assert (label.at_ms, label.text, label.lane) == (500, "a +2", 0)


def test_events_after_the_end_of_the_axis_are_left_out() -> None:
    assert place_labels([EventMarker(1001, ("late",))], 1000, 500, 28) == []


def test_a_name_at_the_right_edge_stands_to_the_left_of_its_line() -> None:
    [label] = place_labels([EventMarker(990, ("something happens",))], 1000, 500, 28)
    assert label.leftwards


def test_names_go_to_the_side_that_has_room() -> None:
    moments = (600, 633, 666, 700, 733, 766)
    labels = place_labels([EventMarker(moment, (f"app-{moment} goes down",)) for moment in moments], 920, 500, 28)
    assert [(label.lane, label.leftwards) for label in labels] == [
        *((lane, True) for lane in (0, 1, 2)),
        *((lane, False) for lane in (2, 1, 0)),
    ]


def test_no_name_covers_another_and_no_line_crosses_a_name() -> None:
    moments = [0, 12, 30, 55, 80, 81, 140, 300, 330, 500, 520, 700, 720, 900, 940, 960, 985, 1000]
    labels = place_labels([EventMarker(moment, (f"client-{moment} goes down",)) for moment in moments], 1000, 500, 20)
    named = [label for label in labels if label.lane is not None]
    assert len(named) >= 9
    assert {label.lane for label in named} == set(range(LANES))
    reach = {}
    for label in named:
        line, width = label.at_ms * 0.5, 4.4 * len(label.text)
        reach[label] = (line - width, line) if label.leftwards else (line, line + width)
        assert 0 <= reach[label][0] <= reach[label][1] <= 500
    for one in named:
        for other in named:
            start, end = reach[other]
            if one is not other and one.lane == other.lane:
                assert reach[one][1] <= start or end <= reach[one][0]
            if one.lane is not None and other.lane is not None and one.lane > other.lane:
                assert not start < one.at_ms * 0.5 < end
