"""The records of assignors are the same with and without shortcuts."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from assignors.flow import FlowEffort
from assignors.model.columns import IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.recording.recorder import Recorder, RecordingTaskAssignor
from assignors.tasks import assignment_utils, rack_aware
from assignors.tasks.active_task_flow import configured_flow
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.sticky import Sticky
from assignors.tasks.task_placement import TaskPlacement
from tests.assignors.tasks.random_states import RecordedWork, draw_state
from tests.assignors.tasks.reference_exchange import exchange_plainly
from tests.assignors.tasks.sticky_tables import state

MIN_TRAFFIC = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
ASSIGNORS: list[RecordingTaskAssignor] = [HighAvailability(), LegacySticky(), Sticky()]
NAMES = ["high availability", "legacy sticky", "sticky"]


def without_shortcuts(
    placement: TaskPlacement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    tags: IntArray,
    recorder: Recorder,
) -> None:
    flow = configured_flow(replace(placement.state, assignment_configs=MIN_TRAFFIC))
    for effort in exchange_plainly(placement, clients, traffic, non_overlap_cost, tags.shape[1] > 0, flow):
        recorder.flow(effort)


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_every_flow_that_kafka_solves_is_told(assignor: RecordingTaskAssignor, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(30)
    flows = 0
    for _ in range(400):
        drawn = draw_state(chance, max_clients=8)
        recorded, plain = RecordedWork(), RecordedWork()
        given = assignor.assign_recorded(drawn, recorded)
        with monkeypatch.context() as patched:
            for module in (rack_aware, assignment_utils):
                patched.setattr(module, "exchange_standbys", without_shortcuts)
            assert assignor.assign_recorded(drawn, plain) == given
        assert assignor.assign(drawn) == given
        assert recorded.flows == plain.flows
        flows += recorded.flows.total()
    assert flows > 500


def test_a_flow_without_cycles_is_one_search() -> None:
    racks: dict[str, tuple[str | None, ...]] = {"in0-0": ("az1",), "in0-1": ("az2",)}
    recorded = RecordedWork()
    before = state("A@az1: | B@az2:", "0_0 0_1", racks=racks, strategy="min_traffic")
    LegacySticky().assign_recorded(before, recorded)
    # 2 tasks, 2 clients, source, sink and the dummy; 2 + 4 + 2 edges both ways, and the dummy's 6.
    assert recorded.flows == {FlowEffort(cycles=0, passes=7, nodes=7, edges=22): 1}


def test_without_racks_there_is_nothing_to_tell() -> None:
    recorded = RecordedWork()
    LegacySticky().assign_recorded(state("A: | B:", "0_0 0_1", standbys=1), recorded)
    assert not recorded.flows
