"""End offsets of changelogs that reported offsets imply.

Records of a group have the offsets that members reported, but not the end offsets with which the leader compared them.
A changelog only grows, so its end is not below any offset that was reported before, and not above one that is reported
by a later copy that still reads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from scenarios.kafka.incident.recorded import RecordedRebalance


@dataclass(frozen=True, slots=True)
class EndOffsets:
    """The end offset sum of a task at one time.

    Attributes:
        estimate: The assumed sum: the largest one that was reported until then; if none was, the smallest later one, or
            0.
        is_certain: Whether no later report is larger, so that the changelog did not grow.
    """

    estimate: int
    is_certain: bool


class OffsetBounds:
    """The largest reported offset sum of each task over the rebalances of a group."""

    def __init__(self, rebalances: Sequence[RecordedRebalance]) -> None:
        self._reports: dict[str, list[tuple[int, int]]] = {}
        for rebalance in rebalances:
            for member in rebalance.members:
                for task, offset_sum in member.offset_sums.items():
                    if offset_sum >= 0:
                        self._reports.setdefault(task, []).append((rebalance.number, offset_sum))

    def at(self, task: str, number: int) -> EndOffsets:
        """Return the end offsets of a task at a rebalance."""
        reports = self._reports.get(task, [])
        known = bisect_right(reports, number, key=lambda report: report[0])
        before = [offset_sum for _, offset_sum in reports[:known]]
        after = [offset_sum for _, offset_sum in reports[known:]]
        estimate = max(before) if before else min(after, default=0)
        return EndOffsets(estimate, bool(before) and max(after, default=estimate) <= estimate)
