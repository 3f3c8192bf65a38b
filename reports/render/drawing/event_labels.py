"""Where the names of events go above the axes of a figure, so that none covers another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.analysis.runs.time_series import EventMarker
from reports.analysis.text import printable

LANES = 3
"""How many rows of names there may be."""

_CHAR_PT = 4.4
_CLOSE = 0.008


@dataclass(frozen=True, slots=True)
class EventLabel:
    """An event, or several that happen so close together that they are one on paper.

    Attributes:
        at_ms: when the first of them happens.
        text: names the first, and says how many others there are.
        lane: the row of its name, 0 next to the axes; None if there is no room.
        leftwards: whether the name stands to the left of the line.
    """

    at_ms: int
    text: str
    lane: int | None
    leftwards: bool


@dataclass(frozen=True, slots=True)
class _LabelBox:
    """A name and the line that leads down from it, in points from the left."""

    line: float
    start: float
    end: float

    def goes_above(self, other: _LabelBox) -> bool:
        """Whether it may stand in a higher lane than the other: its line must not cross the other's name."""
        return not other.start < self.line < other.end

    def goes_beside(self, other: _LabelBox) -> bool:
        """Whether both may stand in the same lane."""
        return self.end <= other.start or other.end <= self.start


def place_labels(events: Sequence[EventMarker], until_ms: int, width_pt: float, max_chars: int) -> list[EventLabel]:
    """Give each event a place for its name, so that no name covers another and no line crosses a name.

    Args:
        events: in order of time.
        until_ms: where the axis of time ends; later events are not shown.
        width_pt: how wide the axes are, in points.
        max_chars: how long a name may be.
    """
    shown = _close_together([event for event in events if event.at_ms <= until_ms], until_ms)
    texts = [_text(event, max_chars) for event in shown]
    rightwards, leftwards = [], []
    for event, text in zip(shown, texts, strict=True):
        line, width = event.at_ms * width_pt / max(until_ms, 1), _CHAR_PT * (len(text) + 1)
        rightwards.append(_LabelBox(line, line, line + width))
        leftwards.append(_LabelBox(line, line - width, line))
    indices = range(len(shown))
    # At the right edge there is one side only. In each of these orders those that come later may stand higher.
    attempts = [(index, leftwards[index]) for index in indices if rightwards[index].end > width_pt]
    attempts += [(index, rightwards[index]) for index in reversed(indices)]
    attempts += [(index, leftwards[index]) for index in indices]
    placed: dict[int, tuple[_LabelBox, int]] = {}
    for index, name in attempts:
        if index not in placed and name.start >= 0 and name.end <= width_pt:
            lane = _lane(name, placed.values())
            if lane is not None:
                placed[index] = name, lane
    return [
        EventLabel(event.at_ms, text, placed[index][1], placed[index][0] is leftwards[index])
        if index in placed
        else EventLabel(event.at_ms, text, None, leftwards=False)
        for index, (event, text) in enumerate(zip(shown, texts, strict=True))
    ]


def _lane(name: _LabelBox, placed: Iterable[tuple[_LabelBox, int]]) -> int | None:
    """The lowest lane in which a name gets on with all that are placed."""

    others = list(placed)

    def fits(lane: int) -> bool:
        return all(
            name.goes_beside(other)
            if other_lane == lane
            else (name.goes_above(other) if other_lane < lane else other.goes_above(name))
            for other, other_lane in others
        )

    return next((lane for lane in range(LANES) if fits(lane)), None)


def _close_together(events: Sequence[EventMarker], until_ms: int) -> list[EventMarker]:
    """Events with those that follow within a line's breadth made one."""
    found: list[EventMarker] = []
    for event in events:
        if found and event.at_ms - found[-1].at_ms <= _CLOSE * until_ms:
            found[-1] = EventMarker(found[-1].at_ms, found[-1].texts + event.texts)
        else:
            found.append(event)
    return found


def _text(event: EventMarker, max_chars: int) -> str:
    more = f" +{len(event.texts) - 1}" if len(event.texts) > 1 else ""
    first = printable(event.texts[0])
    room = max_chars - len(more)
    return (first if len(first) <= room else f"{first[: room - 1].rstrip()}…") + more
