"""The records of assignors are the same with and without shortcuts."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from assignors.flow import FlowEffort
from assignors.model.assignment import TaskAssignment
from assignors.model.columns import IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.recording import Recorder, RecordingTaskAssignor, StepRecorder, as_recording
from assignors.tasks import rack_aware, sticky
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import FallbackPrior, LegacySticky
from assignors.tasks.rack_aware import configured_flow
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


class OverridesAssign(HighAvailability):
    """A variant of Kafka's assignor whose author overrides `assign` alone."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return FallbackPrior().assign(state)


def test_overridden_assign_is_called() -> None:
    drawn = draw_state(random.Random(1), max_clients=8)
    assert FallbackPrior().assign(drawn) != HighAvailability().assign(drawn)
    assert as_recording(OverridesAssign()).assign_recorded(drawn, StepRecorder()) == FallbackPrior().assign(drawn)
    assert as_recording(HighAvailability()) == HighAvailability()


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_every_flow_that_kafka_solves_is_recorded(
    assignor: RecordingTaskAssignor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(30)
    flows = 0
    for _ in range(400):
        drawn = draw_state(rng, max_clients=8)
        recorded, plain = RecordedWork(), RecordedWork()
        assignment = assignor.assign_recorded(drawn, recorded)
        with monkeypatch.context() as patched:
            for module in (rack_aware, sticky):
                patched.setattr(module, "exchange_standbys", without_shortcuts)
            assert assignor.assign_recorded(drawn, plain) == assignment
        assert assignor.assign(drawn) == assignment
        assert recorded.flows == plain.flows
        flows += recorded.flows.total()
    assert flows > 500


def test_flow_without_cycles_is_one_search() -> None:
    racks: dict[str, tuple[str | None, ...]] = {"in0-0": ("az1",), "in0-1": ("az2",)}
    recorded = RecordedWork()
    before = state("A@az1: | B@az2:", "0_0 0_1", racks=racks, strategy="min_traffic")
    LegacySticky().assign_recorded(before, recorded)
    # 2 tasks, 2 clients, source, sink and the dummy; 2 + 4 + 2 edges both ways, and the dummy's 6.
    assert recorded.flows == {FlowEffort(cycles=0, passes=7, nodes=7, edges=22): 1}


def test_no_flow_is_recorded_without_racks() -> None:
    recorded = RecordedWork()
    LegacySticky().assign_recorded(state("A: | B:", "0_0 0_1", standbys=1), recorded)
    assert not recorded.flows
