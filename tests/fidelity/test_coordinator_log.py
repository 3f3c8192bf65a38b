"""Times of target assignments are read from broker logs, for one group only."""

from __future__ import annotations

from tests.fidelity.coordinator_log import target_assignment_times_ms

HEAD = (
    "[group-coordinator-event-processor-2] INFO org.apache.kafka.coordinator.group.GroupMetadataManager - "
    "[GroupCoordinator id=3 topic=__consumer_offsets partition=23] "
)
COMPUTED = "Computed a new target assignment for epoch 4 with 'sticky' assignor in 100ms."
FIRST = f"""\
2026-11-21 21:16:51.323 {HEAD}[GroupId shop][MemberId TMqT7iSWRWO4bpW-r5SNIQ] Bumped streams group epoch to 4.
2026-11-21 21:16:52.624 {HEAD}[GroupId shop] {COMPUTED}
2026-11-21 21:16:52.700 {HEAD}[GroupId shop-2] {COMPUTED}
"""
SECOND = f"2026-11-21 21:16:50.124 {HEAD}[GroupId shop] {COMPUTED}\n"


def test_targets_of_one_group_are_sorted_over_all_brokers() -> None:
    earlier, later = target_assignment_times_ms([FIRST, SECOND], "shop")
    assert later - earlier == 2_500
    assert target_assignment_times_ms([FIRST, SECOND], "kiosk") == []
