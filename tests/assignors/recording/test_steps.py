"""Recorded steps lead to the assignment, and their numbers are correct, on random applications."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from assignors.compilation import CHOICE, COMPILED, PLAIN, Kernels
from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.recording.recorder import Exchange, PlacementStep, RecordingTaskAssignor, StepKind, StepRecorder
from assignors.tasks.fallback_prior import FallbackPrior
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from tests.assignors.recording.replay import Replay
from tests.assignors.tasks.random_states import draw_state
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


@pytest.fixture(params=[PLAIN, COMPILED], ids=["plain", "compiled"], autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    kernels: Kernels = request.param
    with CHOICE.always(kernels):
        yield kernels


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


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_recorded_steps_lead_to_the_assignment_with_correct_numbers(assignor: RecordingTaskAssignor) -> None:
    kinds: Counter[StepKind | str] = Counter()

    def check_state(state: ApplicationState) -> None:
        kinds.update(replayed(assignor, state).kinds)

    for seed in range(25):
        run_history(assignor, seed, check_state)
    if isinstance(assignor, HighAvailability):
        expected = set(StepKind) - {StepKind.KEPT, StepKind.STOOD_BY, StepKind.MIXED, StepKind.CLOSEST}
        assert expected | {"exchange of ACTIVE", "exchange of STANDBY"} <= set(kinds)
    else:
        assert {StepKind.KEPT, StepKind.STOOD_BY, StepKind.LEAST_LOADED} <= set(kinds)


def test_recorded_steps_are_correct_for_random_states(kernels: Kernels) -> None:
    rng = random.Random(7)
    kinds: Counter[StepKind | str] = Counter()
    for _ in range(200):
        kinds.update(replayed(HighAvailability(), draw_state(rng, max_clients=8)).kinds)
    assert kinds[StepKind.CLOSEST] > 100
    assert kinds["exchange of STANDBY"] > 10


def falsify(
    entries: list[PlacementStep | Exchange], kind: StepKind, **changes: int | float
) -> list[PlacementStep | Exchange]:
    """Return the same entries with one number of the first step of a kind changed."""
    place = next(
        place for place, entry in enumerate(entries) if isinstance(entry, PlacementStep) and entry.kind is kind
    )
    step = entries[place]
    assert isinstance(step, PlacementStep)
    changed = {name: getattr(step, name) + change for name, change in changes.items()}
    return [*entries[:place], step._replace(**changed), *entries[place + 1 :]]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (StepKind.DEALT, {"destination": 1}),
        (StepKind.BALANCED, {"source_load": 0.5}),
        (StepKind.BALANCED, {"destination_load": 0.5}),
        (StepKind.BALANCED, {"task": 1}),
        (StepKind.LEAST_LOADED, {"destination_load": 1.0}),
        (StepKind.WAITS, {"source_lag": 1}),
        (StepKind.WAITS, {"destination_lag": 1}),
        (StepKind.CAUGHT_UP, {"destination_lag": 1}),
        (StepKind.WARM_UP, {"destination_lag": -1}),
    ],
)
def test_wrong_step_is_detected(kind: StepKind, changes: dict[str, int]) -> None:
    detected = 0

    def check_state(state: ApplicationState) -> None:
        nonlocal detected
        steps = StepRecorder()
        HighAvailability().assign_recorded(state, steps)
        if len(state.clients) > 2 and kind in {step.kind for step in steps.entries if isinstance(step, PlacementStep)}:
            replay = Replay(state, costs_of(HighAvailability(), state), changelogs_count=False)
            with pytest.raises((AssertionError, IndexError)):
                replay.run(falsify(steps.entries, kind, **changes))
            detected += 1

    for seed in range(12):
        run_history(HighAvailability(), seed, check_state)
    assert detected > 3


def test_exchange_without_saving_is_detected() -> None:
    detected = 0

    def check_state(state: ApplicationState) -> None:
        nonlocal detected
        steps = StepRecorder()
        HighAvailability().assign_recorded(state, steps)
        for place, entry in enumerate(steps.entries):
            if isinstance(entry, Exchange):
                wrong = replace(entry, destination_traffic=entry.destination_traffic + 1)
                replay = Replay(state, costs_of(HighAvailability(), state), changelogs_count=False)
                with pytest.raises(AssertionError):
                    replay.run([*steps.entries[:place], wrong])
                detected += 1

    for seed in range(25):
        run_history(HighAvailability(), seed, check_state)
    assert detected > 20
