"""The rebalances of a past night by cause, as lanes of a timeline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from reports.analysis.incident.report import FOLLOW_UP, PROBING, IncidentReport

MAX_CLIENTS: Final = 8
"""Maximum number of clients with a lane of their own."""

_WITHOUT_CLIENT: Final = {FOLLOW_UP: "follow-ups", PROBING: "probing"}
_OTHER: Final = "other causes"
_OTHER_CLIENTS: Final = "other clients"
_KINDS: Final = {
    "joined": "joined",
    "left": "left or timed out",
    "expired": "old session timed out",
    "restarted": "restarted",
    "returned": "returned",
    "new_process_id": "returned with a new process id",
    FOLLOW_UP: "follow-up",
    PROBING: "probing",
}
OTHER_KIND: Final = "other"


@dataclass(frozen=True, slots=True)
class CauseMark:
    """A cause at a time.

    Attributes:
        at_ms: When.
        kind: What happened, as a title of the legend.
    """

    at_ms: int
    kind: str


@dataclass(frozen=True, slots=True)
class CauseLane:
    """The causes of one client, or of one kind that no single client caused.

    Attributes:
        title: Client, or kind.
        marks: The causes, by time.
        is_client: Whether it is a client's.
    """

    title: str
    marks: tuple[CauseMark, ...]
    is_client: bool


def cause_lanes(report: IncidentReport) -> tuple[CauseLane, ...]:
    """Return the lanes of the rebalances after the first one: the clients with most causes first, then other kinds."""
    counts = Counter(
        cause.client for rebalance in report.later for cause in rebalance.causes if cause.client is not None
    )
    named = [client for client, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_CLIENTS]]
    marks: dict[tuple[str, bool], list[CauseMark]] = {(client, True): [] for client in named}
    if len(counts) > len(named):
        marks[_OTHER_CLIENTS, False] = []
    for rebalance in report.later:
        for cause in rebalance.causes:
            if cause.client is None:
                lane = _WITHOUT_CLIENT.get(cause.kind, _OTHER), False
            else:
                lane = (cause.client, True) if cause.client in named else (_OTHER_CLIENTS, False)
            mark = CauseMark(rebalance.at_ms, _KINDS.get(cause.kind, OTHER_KIND))
            marks.setdefault(lane, []).append(mark)
    return tuple(CauseLane(title, tuple(own), is_client) for (title, is_client), own in marks.items())
