"""Placement of event labels above the axes of a figure without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.analysis.runs.time_series import EventMarker
from reports.analysis.text import printable

LANES = 3
"""Maximum number of rows of labels."""

_CHAR_PT = 4.4
_MIN_DISTANCE = 0.008


@dataclass(frozen=True, slots=True)
class EventLabel:
    """The label of an event, or of several events that are too close together to be drawn apart.

    Attributes:
        at_ms: time of the first event.
        text: the first event, and the number of others.
        lane: row of the label, 0 next to the axes; None if there is no room.
        leftwards: whether the text is to the left of the line.
    """

    at_ms: int
    text: str
    lane: int | None
    leftwards: bool


@dataclass(frozen=True, slots=True)
class _LabelBox:
    """Horizontal extent of a label and its line, in points from the left.

    Attributes:
        line: position of the line from the label to the axes.
        start: left end of the text.
        end: right end of the text.
    """

    line: float
    start: float
    end: float

    def fits_above(self, other: _LabelBox) -> bool:
        """Return whether the label may be in a higher lane than `other`: its line must not cross the other text."""
        return not other.start < self.line < other.end

    def fits_beside(self, other: _LabelBox) -> bool:
        """Return whether both labels may be in the same lane."""
        return self.end <= other.start or other.end <= self.start


def place_labels(events: Sequence[EventMarker], until_ms: int, width_pt: float, max_chars: int) -> list[EventLabel]:
    """Place event labels so that no text covers another and no line crosses a text.

    `events`: in order of time. `until_ms`: end of the time axis; later events are not shown. `width_pt`: approximate
    width of the axes in points. `max_chars`: maximum length of a text. Returns one label per event, or per group of
    close events.
    """
    merged = _merge_close_events([event for event in events if event.at_ms <= until_ms], until_ms)
    texts = [_text(event, max_chars) for event in merged]
    rightwards, leftwards = [], []
    for event, text in zip(merged, texts, strict=True):
        line, width = event.at_ms * width_pt / max(until_ms, 1), _CHAR_PT * (len(text) + 1)
        rightwards.append(_LabelBox(line, line, line + width))
        leftwards.append(_LabelBox(line, line - width, line))
    indices = range(len(merged))
    # At the right edge, text fits only on the left. Later attempts may get higher lanes.
    attempts = [(index, leftwards[index]) for index in indices if rightwards[index].end > width_pt]
    attempts += [(index, rightwards[index]) for index in reversed(indices)]
    attempts += [(index, leftwards[index]) for index in indices]
    placed: dict[int, tuple[_LabelBox, int]] = {}
    for index, box in attempts:
        if index not in placed and box.start >= 0 and box.end <= width_pt:
            lane = _lane(box, placed.values())
            if lane is not None:
                placed[index] = box, lane
    return [
        EventLabel(event.at_ms, text, placed[index][1], placed[index][0] is leftwards[index])
        if index in placed
        else EventLabel(event.at_ms, text, None, leftwards=False)
        for index, (event, text) in enumerate(zip(merged, texts, strict=True))
    ]


def _lane(box: _LabelBox, placed: Iterable[tuple[_LabelBox, int]]) -> int | None:
    """Return the lowest lane in which a label is compatible with all placed ones; None if there is none."""

    others = list(placed)

    def fits(lane: int) -> bool:
        return all(
            box.fits_beside(other)
            if other_lane == lane
            else (box.fits_above(other) if other_lane < lane else other.fits_above(box))
            for other, other_lane in others
        )

    return next((lane for lane in range(LANES) if fits(lane)), None)


def _merge_close_events(events: Sequence[EventMarker], until_ms: int) -> list[EventMarker]:
    """Merge events that are closer together than the width of a line."""
    merged: list[EventMarker] = []
    for event in events:
        if merged and event.at_ms - merged[-1].at_ms <= _MIN_DISTANCE * until_ms:
            merged[-1] = EventMarker(merged[-1].at_ms, merged[-1].texts + event.texts)
        else:
            merged.append(event)
    return merged


def _text(event: EventMarker, max_chars: int) -> str:
    more = f" +{len(event.texts) - 1}" if len(event.texts) > 1 else ""
    first = printable(event.texts[0])
    room = max_chars - len(more)
    return (first if len(first) <= room else f"{first[: room - 1].rstrip()}…") + more
