"""Checks of recorded steps on the states of random applications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.recording import RecordingTaskAssignor, StepKind, StepRecorder
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import FallbackPrior, LegacySticky
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from tests.assignors.recording.replay import Replay
from tests.contract.random_applications import RandomApplication

DEFAULTS = {HighAvailability: (10, 1)}
ASSIGNORS: list[RecordingTaskAssignor] = [
    HighAvailability(),
    LegacySticky(),
    Sticky(),
    FallbackPrior(),
    StreamsGroupSticky(),
]
NAMES = ["high availability", "legacy sticky", "sticky", "fallback prior", "streams group"]


def costs_of(assignor: RecordingTaskAssignor, state: ApplicationState) -> tuple[int, int]:
    """Return the costs of a remote partition and of a move."""
    traffic, non_overlap = DEFAULTS.get(type(assignor), (1, 10))
    configs = state.assignment_configs
    if configs.rack_aware_traffic_cost is not None:
        traffic = configs.rack_aware_traffic_cost
    if configs.rack_aware_non_overlap_cost is not None:
        non_overlap = configs.rack_aware_non_overlap_cost
    return traffic, non_overlap


def replayed(assignor: RecordingTaskAssignor, state: ApplicationState) -> Replay:
    steps = StepRecorder()
    assignment = assignor.assign_recorded(state, steps)
    replay = Replay(state, costs_of(assignor, state), changelogs_count=isinstance(assignor, Sticky))
    replay.run(steps.entries)
    replay.assert_leads_to(AssignmentColumns.of(state, assignment))
    assert assignor.assign(state) == assignment
    return replay


def run_history(assignor: RecordingTaskAssignor, seed: int, check_state: Callable[[ApplicationState], None]) -> None:
    """Call a function with each state of a random application."""
    application = RandomApplication.from_seed(seed)
    for _ in range(6):
        for _ in range(2):
            state = application.state()
            check_state(state)
            application.apply(assignor.assign(state))
        application.apply_random_event()


def check_steps(assignor: RecordingTaskAssignor, seeds: Iterable[int]) -> None:
    """Check the recorded steps in all states of random applications, and that steps of all kinds occur."""
    kinds: Counter[StepKind | str] = Counter()

    def check_state(state: ApplicationState) -> None:
        kinds.update(replayed(assignor, state).kinds)

    for seed in seeds:
        run_history(assignor, seed, check_state)
    if isinstance(assignor, HighAvailability):
        expected = set(StepKind) - {StepKind.KEPT, StepKind.STOOD_BY, StepKind.MIXED, StepKind.CLOSEST}
        assert expected | {"exchange of ACTIVE", "exchange of STANDBY"} <= set(kinds)
    else:
        assert {StepKind.KEPT, StepKind.STOOD_BY, StepKind.LEAST_LOADED} <= set(kinds)
