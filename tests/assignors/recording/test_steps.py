"""What assignors say they did is what they did: every step and number, on random lives of applications."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
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
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernels:
    chosen: Kernels = request.param
    monkeypatch.setattr(CHOICE, "choose", lambda work: chosen)
    return chosen


def costs_of(assignor: RecordingTaskAssignor, state: ApplicationState) -> tuple[int, int]:
    """What a remote partition costs, and moving a task."""
    traffic, non_overlap = DEFAULTS.get(type(assignor), (1, 10))
    configs = state.assignment_configs
    if configs.rack_aware_traffic_cost is not None:
        traffic = configs.rack_aware_traffic_cost
    if configs.rack_aware_non_overlap_cost is not None:
        non_overlap = configs.rack_aware_non_overlap_cost
    return traffic, non_overlap


def replayed(assignor: RecordingTaskAssignor, state: ApplicationState) -> Replay:
    steps = StepRecorder()
    given = assignor.assign_recorded(state, steps)
    replay = Replay(state, costs_of(assignor, state), changelogs_count=isinstance(assignor, Sticky))
    replay.run(steps.entries)
    replay.assert_leads_to(AssignmentColumns.of(state, given))
    assert assignor.assign(state) == given
    return replay


def live(assignor: RecordingTaskAssignor, seed: int, look: Callable[[ApplicationState], None]) -> None:
    """Show every state of a random life."""
    life = RandomApplication.from_seed(seed)
    for _ in range(6):
        for _ in range(2):
            state = life.state()
            look(state)
            life.apply(assignor.assign(state))
        life.apply_random_event()


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_the_steps_that_are_told_lead_to_the_answer_and_every_number_is_true(assignor: RecordingTaskAssignor) -> None:
    kinds: Counter[StepKind | str] = Counter()

    def look(state: ApplicationState) -> None:
        kinds.update(replayed(assignor, state).kinds)

    for seed in range(25):
        live(assignor, seed, look)
    if isinstance(assignor, HighAvailability):
        wanted = set(StepKind) - {StepKind.KEPT, StepKind.STOOD_BY, StepKind.MIXED, StepKind.CLOSEST}
        assert wanted | {"exchange of ACTIVE", "exchange of STANDBY"} <= set(kinds)
    else:
        assert {StepKind.KEPT, StepKind.STOOD_BY, StepKind.LEAST_LOADED} <= set(kinds)


def test_the_steps_are_true_for_applications_nobody_has_run(kernels: Kernels) -> None:
    chance = random.Random(7)
    kinds: Counter[StepKind | str] = Counter()
    for _ in range(200):
        kinds.update(replayed(HighAvailability(), draw_state(chance, max_clients=8)).kinds)
    assert kinds[StepKind.CLOSEST] > 100
    assert kinds["exchange of STANDBY"] > 10


def falsified(
    told: list[PlacementStep | Exchange], kind: StepKind, **changes: int | float
) -> list[PlacementStep | Exchange]:
    """The same with one number of the first step of a kind changed by so much."""
    place = next(place for place, each in enumerate(told) if isinstance(each, PlacementStep) and each.kind is kind)
    step = told[place]
    assert isinstance(step, PlacementStep)
    changed = {name: getattr(step, name) + change for name, change in changes.items()}
    return [*told[:place], step._replace(**changed), *told[place + 1 :]]


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
def test_a_step_that_is_not_true_is_found_out(kind: StepKind, changes: dict[str, int]) -> None:
    found_out = 0

    def look(state: ApplicationState) -> None:
        nonlocal found_out
        steps = StepRecorder()
        HighAvailability().assign_recorded(state, steps)
        if len(state.clients) > 2 and kind in {each.kind for each in steps.entries if isinstance(each, PlacementStep)}:
            replay = Replay(state, costs_of(HighAvailability(), state), changelogs_count=False)
            with pytest.raises((AssertionError, IndexError)):
                replay.run(falsified(steps.entries, kind, **changes))
            found_out += 1

    for seed in range(12):
        live(HighAvailability(), seed, look)
    assert found_out > 3


def test_an_exchange_that_did_not_save_is_found_out() -> None:
    found_out = 0

    def look(state: ApplicationState) -> None:
        nonlocal found_out
        steps = StepRecorder()
        HighAvailability().assign_recorded(state, steps)
        for place, each in enumerate(steps.entries):
            if isinstance(each, Exchange):
                lie = replace(each, destination_traffic=each.destination_traffic + 1)
                replay = Replay(state, costs_of(HighAvailability(), state), changelogs_count=False)
                with pytest.raises(AssertionError):
                    replay.run([*steps.entries[:place], lie])
                found_out += 1

    for seed in range(25):
        live(HighAvailability(), seed, look)
    assert found_out > 20
