"""Time series of rounds and events."""

from __future__ import annotations

from reports.analysis.runs.time_series import EventMarker, cross_rack_rate, displaced_tasks, events, series
from tests.reports.sample_runs import MINUTE_MS, run_rounds, tables


def test_value_holds_until_next_round() -> None:
    [line] = series(tables([{}], run_rounds("sticky", [(0, 40e6, 8), (10, 30e6, 0)])), cross_rack_rate)
    assert line.at_ms == line.rounds_ms == (0, 10 * MINUTE_MS)
    assert [line.at(minute * MINUTE_MS) for minute in (0, 9, 10, 99)] == [40e6, 40e6, 30e6, 30e6]
    assert line.at(-1) is None
    assert not line.varies
    assert line.until_ms == 60 * MINUTE_MS


def test_short_rounds_are_merged_with_next_long_round() -> None:
    spans = ((0, 600), (600, 600), (600, 603), (603, 1203), (1203, 1204))
    rounds = [
        {"round": number, "at_ms": 1000 * start, "until_ms": 1000 * end, "cross_rack_bytes": 1e6 * number}
        for number, (start, end) in enumerate(spans)
    ]
    assert cross_rack_rate(rounds) == [0, *[1e6 * (1 + 2 + 3) / 603] * 3, 4e6]
    assert cross_rack_rate([{**rounds[1], "cross_rack_bytes": None}, rounds[3]]) == [None, None]


def test_round_of_length_zero_has_no_rate() -> None:
    assert cross_rack_rate([{"at_ms": 5, "until_ms": 5, "cross_rack_bytes": 0.0}]) == [None]


def test_seeds_are_aggregated_to_median_and_range() -> None:
    rounds = [
        row
        for seed, minute in ((1, 10), (2, 20), (3, 30))
        for row in run_rounds("sticky", [(minute - 10, 4.0, 9), (minute, 1.0, 0)], seed=seed)
    ]
    [line] = series(tables([{"seed": seed} for seed in (1, 2, 3)], rounds), displaced_tasks)
    assert [time_ms // MINUTE_MS for time_ms in line.at_ms] == [0, 10, 20, 30]
    assert line.values == (9, 4.5, 0, 0)
    assert line.minimums == (9, 0, 0, 0)
    assert line.maximums == (9, 9, 9, 0)
    assert [time_ms // MINUTE_MS for time_ms in line.rounds_ms] == [0, 10]


def test_assignors_keep_their_order_even_without_rounds() -> None:
    results = tables(
        [{"assignor": name, "verdict": "failed" if name == "z" else "stable"} for name in "zab"],
        run_rounds("b", [(0, 1.0, 0)]),
    )
    lines = series(results, displaced_tasks)
    assert [(line.label, line.at_ms, line.failed) for line in lines] == [
        ("z", (), True),
        ("a", (), False),
        ("b", (0,), False),
    ]


def test_labels_contain_scenario_if_there_are_several() -> None:
    lines = series(tables([{"scenario": "one"}, {"scenario": "two"}], []), displaced_tasks)
    assert [line.label for line in lines] == ["one: sticky", "two: sticky"]


def test_unknown_rate_is_none() -> None:
    [line] = series(tables([{}], run_rounds("sticky", [(0, None, 1), (5, 2.0, 0)])), cross_rack_rate)
    assert line.values == (None, 2.0)


def test_events_of_first_run_are_grouped_by_time() -> None:
    rows = [{"at_ms": 9, "event": "broker 3 down"}, {"at_ms": 9, "event": "client-5 down"}, {"at_ms": 4, "event": "x"}]
    results = tables([{}], [], [{"assignor": name, **event} for name in ("a", "b") for event in rows])
    assert events(results) == [EventMarker(4, ("x",)), EventMarker(9, ("broker 3 down", "client-5 down"))]
