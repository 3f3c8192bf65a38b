"""Placement of event labels."""

from __future__ import annotations

from reports.analysis.runs.time_series import EventMarker
from reports.render.drawing.event_labels import LANES, place_labels


def test_nearby_events_share_a_label() -> None:
    [label] = place_labels([EventMarker(500, ("a", "b")), EventMarker(503, ("c",))], 1000, 500, 28)
    assert (label.at_ms, label.text, label.lane) == (500, "a +2", 0)


def test_events_beyond_axis_have_no_label() -> None:
    assert place_labels([EventMarker(1001, ("late",))], 1000, 500, 28) == []


def test_label_at_right_edge_is_placed_left_of_its_line() -> None:
    [label] = place_labels([EventMarker(990, ("something happens",))], 1000, 500, 28)
    assert label.leftwards


def test_labels_use_the_side_with_space() -> None:
    times = (600, 633, 666, 700, 733, 766)
    labels = place_labels([EventMarker(time_ms, (f"app-{time_ms} goes down",)) for time_ms in times], 920, 500, 28)
    assert [(label.lane, label.leftwards) for label in labels] == [
        *((lane, True) for lane in (0, 1, 2)),
        *((lane, False) for lane in (2, 1, 0)),
    ]


def test_labels_overlap_neither_labels_nor_lines() -> None:
    times = [0, 12, 30, 55, 80, 81, 140, 300, 330, 500, 520, 700, 720, 900, 940, 960, 985, 1000]
    labels = place_labels([EventMarker(time_ms, (f"client-{time_ms} goes down",)) for time_ms in times], 1000, 500, 20)
    named = [label for label in labels if label.lane is not None]
    assert len(named) >= 9
    assert {label.lane for label in named} == set(range(LANES))
    extent = {}
    for label in named:
        line, width = label.at_ms * 0.5, 4.4 * len(label.text)
        extent[label] = (line - width, line) if label.leftwards else (line, line + width)
        assert 0 <= extent[label][0] <= extent[label][1] <= 500
    for first in named:
        for second in named:
            start, end = extent[second]
            if first is not second and first.lane == second.lane:
                assert extent[first][1] <= start or end <= extent[first][0]
            if first.lane is not None and second.lane is not None and first.lane > second.lane:
                assert not start < first.at_ms * 0.5 < end
