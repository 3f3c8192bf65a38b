"""Recorded steps lead to the assignment, and their numbers are correct, on random applications."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assignors.compilation import CHOICE, COMPILED, PLAIN, Kernels
from assignors.model.state import ApplicationState
from assignors.recording import Exchange, PlacementStep, RecordingTaskAssignor, StepKind, StepRecorder
from assignors.tasks.high_availability import HighAvailability
from tests.assignors.recording.replay import Replay
from tests.assignors.recording.step_checks import ASSIGNORS, NAMES, check_steps, costs_of, replayed, run_history
from tests.assignors.tasks.random_states import draw_state


@pytest.fixture(params=[PLAIN, COMPILED], ids=["plain", "compiled"], autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    kernels: Kernels = request.param
    with CHOICE.always(kernels):
        yield kernels


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_recorded_steps_lead_to_the_assignment_with_correct_numbers(assignor: RecordingTaskAssignor) -> None:
    check_steps(assignor, range(8))


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
        if detected <= 3:
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
