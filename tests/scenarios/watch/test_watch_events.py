"""Events as lines and as JSON, and alarms."""

from __future__ import annotations

import json

import pytest

from scenarios.watch.watch_events import (
    ALARMS,
    Alarm,
    EventKind,
    EventLevel,
    WatchEvent,
    listed,
    seconds,
    with_names,
)
from simulator.plurals import counted

STRANGE = "shop\n\x1b[31m[bold]=1+1\u2028"


def event(message: str, level: EventLevel = EventLevel.INFO) -> WatchEvent:
    return WatchEvent(1_700_000_000_123, "shop", EventKind.TASK_DOWN, level, message, {"tasks": ["0_1"]})


def test_record_has_time_level_and_details() -> None:
    assert json.loads(json.dumps(event("down", EventLevel.ALARM).record())) == {
        "time": "2023-11-14T22:13:20.123Z",
        "group": "shop",
        "event": "task_down",
        "level": "alarm",
        "message": "down",
        "details": {"tasks": ["0_1"]},
    }


@pytest.mark.parametrize("level", EventLevel)
@pytest.mark.parametrize("message", ["short", "long " * 50, STRANGE * 10])
def test_line_fits_a_terminal_and_has_no_control_characters(level: EventLevel, message: str) -> None:
    line = event(message, level).line()
    assert line.isprintable()
    assert len(line) <= 80
    assert line.startswith("22:13:20Z ")
    assert ("ALARM" in line, "resolved:" in line) == (level is EventLevel.ALARM, level is EventLevel.RESOLVED)


def test_alarm_is_raised_once_and_resolved_once() -> None:
    alarm = Alarm("shop", EventKind.GROUP_EMPTY)
    states = [False, True, True, False, False, True]
    events = [[event.level for event in alarm.update(0, holds, "empty", "not empty")] for holds in states]
    assert events == [[], [EventLevel.ALARM], [], [EventLevel.RESOLVED], [], [EventLevel.ALARM]]
    assert alarm.is_active


def test_sentence_has_as_many_names_as_fit() -> None:
    names = [f"0_{number}" for number in range(9)]
    assert with_names("9 tasks", names) == "9 tasks: 0_0, 0_1, 0_2, 0_3 and 5 more"
    assert with_names("x" * 40, names) == f"{'x' * 40}: 0_0 and 8 more"
    assert with_names("x" * 60, names) == "x" * 60
    assert with_names("2 tasks", names[:2]) == "2 tasks: 0_0, 0_1"


def test_figures_have_their_units() -> None:
    assert [seconds(duration_ms) for duration_ms in (0, 1_400, 599_000, 600_000, 7_200_000)] == [
        "0 s",
        "1 s",
        "599 s",
        "10 min",
        "120 min",
    ]
    assert (counted(1, "task"), counted(1_200, "task")) == ("1 task", "1,200 tasks")
    assert listed(["a"]) == "a"


def test_every_kind_of_alarm_is_listed_once() -> None:
    assert len(set(ALARMS)) == len(ALARMS)
    assert set(EventKind) - set(ALARMS) == {
        EventKind.STARTED,
        EventKind.GROUP_STATE,
        EventKind.MEMBERS,
        EventKind.REBALANCE,
        EventKind.WARMUPS,
    }
