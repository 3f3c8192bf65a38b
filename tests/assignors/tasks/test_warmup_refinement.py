"""The stated rules of the announced warm-ups of streams groups, on examples and on random groups."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import assignor_sim as sim
from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo
from assignors.tasks.streams_group_sticky import StreamsGroupPreview, StreamsGroupSticky
from assignors.tasks.warmup_refinement import RefinedAssignment, refine

FULL = 50_000
"""Lag of a client without a copy."""

NAMES = "abcd"


def refined(
    before: str, after: str, *, lags: str = "", warmups: str = "", slots: int = 2, stateless: bool = False
) -> tuple[str, str]:
    """Refine a target, and return the step and its warm-ups.

    Args:
        before: what clients own, as `"a: 0 1 (2) | b: "`: standbys in parentheses, a task that is restored as `1!`.
        after: the target.
        lags: lags of copies by client, as `"b: 2=10"`.
        warmups: which standbys are warm-ups, as `"b: 2"`.
        slots: maximum number of warm-ups.
        stateless: whether the tasks have no state.
    """
    owned, target = parsed(before), parsed(after)
    numbers = sorted({task for part in (owned, target) for tasks in part.values() for task in (*tasks[0], *tasks[1])})
    lag_of = {(name, int(task)): int(lag) for name, task, lag in entries(lags)}
    tasks = [TaskInfo(TaskId(0, number), is_stateful=not stateless) for number in numbers]
    clients = []
    for number, name in enumerate(sorted({*owned, *target})):
        active, standby, restoring = owned.get(name, ([], [], []))
        task_lags = {TaskId(0, task): lag_of.get((name, task), FULL) for task in numbers}
        task_lags |= {TaskId(0, task): LATEST_OFFSET for task in active if task not in restoring}
        clients.append(
            KafkaStreamsState(
                ProcessId(0, number),
                previous_active_tasks=tuple(TaskId(0, task) for task in active),
                previous_standby_tasks=tuple(TaskId(0, task) for task in standby),
                task_lags={} if stateless else task_lags,
            )
        )
    state = ApplicationState.of(tasks, clients, AssignmentConfigs(max_warmup_replicas=slots))
    names = sorted({*owned, *target})
    shape = (len(numbers), len(names))
    columns = AssignmentColumns(
        np.full(shape[0], UNASSIGNED), np.zeros(shape, dtype=np.bool_), None, np.zeros(shape, dtype=np.int64)
    )
    for name, (active, standby, _) in target.items():
        columns.active[[numbers.index(task) for task in active]] = names.index(name)
        columns.standby[[numbers.index(task) for task in standby], names.index(name)] = True
    are_warmups = np.zeros(shape, dtype=np.bool_)
    for name, task in ((name, int(task)) for name, task, _ in entries(warmups)):
        are_warmups[numbers.index(task), names.index(name)] = True
    return shown(names, numbers, refine(state, columns, are_warmups))


def parsed(text: str) -> dict[str, tuple[list[int], list[int], list[int]]]:
    clients = {}
    for part in text.split("|"):
        name, _, words = part.strip().partition(":")
        roles: tuple[list[int], list[int], list[int]] = ([], [], [])
        for word in words.split():
            number = int(word.strip("()!"))
            roles[word.startswith("(")].append(number)
            if word.endswith("!"):
                roles[2].append(number)
        clients[name] = roles
    return clients


def entries(text: str) -> list[tuple[str, str, str]]:
    parts = []
    for part in filter(None, text.split("|")):
        name, _, words = part.strip().partition(":")
        parts += [(name, *word.partition("=")[::2]) for word in words.split()]
    return parts


def shown(names: list[str], numbers: list[int], step: RefinedAssignment) -> tuple[str, str]:
    parts, warmups = [], []
    for column, name in enumerate(names):
        active = [str(task) for row, task in enumerate(numbers) if step.columns.active[row] == column]
        standby = [f"({task})" for row, task in enumerate(numbers) if step.columns.standby[row, column]]
        parts.append(f"{name}: {' '.join([*active, *standby])}".strip())
        warmups += [f"{name}{task}" for row, task in enumerate(numbers) if step.warmup[row, column]]
    return " | ".join(parts), " ".join(warmups)


@pytest.mark.parametrize(
    ("before", "after", "options", "expected"),
    [
        pytest.param("a: 0 1 | b:", "a: 0 | b: 1", {}, ("a: 0 1 | b: (1)", "b1"), id="scale-out plants a warm-up"),
        pytest.param(
            "a: 0 1 | b: (1)",
            "a: 0 | b: 1",
            {"lags": "b: 1=9000", "warmups": "b: 1"},
            ("a: 0 | b: 1", ""),
            id="a caught-up warm-up is promoted",
        ),
        pytest.param(
            "a: 0 1 | b: (1)",
            "a: 0 | b: 1",
            {"lags": "b: 1=10001", "warmups": "b: 1"},
            ("a: 0 1 | b: (1)", "b1"),
            id="a warm-up that is behind stays",
        ),
        pytest.param("b:", "b: 0", {}, ("b: 0", ""), id="a task without owner moves"),
        pytest.param("a: 0! | b:", "a: | b: 0", {}, ("a: | b: 0", ""), id="a task that is restored moves"),
        pytest.param("a: 0 | b:", "a: | b: 0", {"stateless": True}, ("a: | b: 0", ""), id="a stateless task moves"),
        pytest.param(
            "a: 0 1 2 | b:", "a: | b: 0 1 2", {"slots": 1}, ("a: 0 1 2 | b: (0)", "b0"), id="others wait for a slot"
        ),
        pytest.param(
            "a: 0 1 2 | b: (2)",
            "a: | b: 0 1 2",
            {"slots": 1, "warmups": "b: 2"},
            ("a: 0 1 2 | b: (2)", "b2"),
            id="a warm-up keeps its slot",
        ),
        pytest.param(
            "a: 0 1 | b: 2 3 (9) | c:",
            "a: | b: 2 3 0 (9) | c: 1",
            {"slots": 1},
            ("a: 0 1 | b: 2 3 (9) | c: (1)", "c1"),
            id="the least loaded new owner comes first",
        ),
        pytest.param(
            "a: 0 | b: (0) | c:",
            "a: | b: 0 | c: (0)",
            {"slots": 1},
            ("a: 0 | b: (0) | c:", ""),
            id="a standby of the new owner needs no slot, and another one waits",
        ),
        pytest.param(
            "a: 0 | b: (0)", "a: (0) | b: 0", {}, ("a: 0 | b: (0)", ""), id="a standby waits for the task to leave"
        ),
    ],
)  # fmt: skip
def test_rules(before: str, after: str, options: dict[str, object], expected: tuple[str, str]) -> None:
    assert refined(before, after, **options) == expected  # type: ignore[arg-type]


def draw_group(rng: random.Random) -> tuple[ApplicationState, AssignmentColumns, np.ndarray]:
    """Return a random group that runs, a target of Kafka 4.4, and which standbys are warm-ups."""
    subtopologies = rng.randint(1, 3)
    tasks = [TaskInfo(TaskId(n, p), n != 1) for n in range(subtopologies) for p in range(rng.randint(1, 8))]
    number = rng.randint(2, 6)
    running = rng.randint(1, number)
    owner = {task.id: rng.randrange(running) for task in tasks}
    held = {task.id: set(rng.sample(range(number), rng.randint(0, 2))) - {owner[task.id]} for task in tasks}
    clients = []
    for client in range(number):
        lags = {task.id: rng.choice((0, 9_000, 20_000)) for task in tasks if task.is_stateful}
        ran = [task for task in owner if owner[task] == client]
        lags |= {task: LATEST_OFFSET for task in ran if task in lags and rng.random() < 0.9}
        clients.append(
            KafkaStreamsState(
                ProcessId(0, client),
                num_processing_threads=rng.randint(1, 3),
                previous_active_tasks=tuple(ran),
                previous_standby_tasks=tuple(t.id for t in tasks if t.is_stateful and client in held[t.id]),
                task_lags=lags,
            )
        )
    configs = AssignmentConfigs(num_standby_replicas=rng.randint(0, 2), max_warmup_replicas=rng.randint(1, 4))
    state = ApplicationState.of(tasks, clients, configs)
    target = AssignmentColumns.of(state, StreamsGroupSticky().assign(state))
    warmups = np.zeros((len(tasks), number), dtype=np.bool_)
    return state, target, warmups


def after_step(state: ApplicationState, step: RefinedAssignment, *, caught_up: bool) -> ApplicationState:
    """Return the state in which all members have taken a step, and copies have caught up or not."""
    clients = range(len(state.clients))
    lags = np.where(state.lags >= LATEST_OFFSET, 0 if caught_up else 20_000, state.lags)
    tasks = np.flatnonzero((step.columns.active != UNASSIGNED) & state.tasks.stateful)
    lags[tasks, step.columns.active[tasks]] = LATEST_OFFSET
    ids = state.tasks.ids
    return replace(
        state,
        lags=lags,
        previous_active=[tuple(ids[r] for r in np.flatnonzero(step.columns.active == c)) for c in clients],
        previous_standby=[tuple(ids[r] for r in np.flatnonzero(step.columns.standby[:, c])) for c in clients],
        previous_thread=step.columns.thread,
    )


def test_no_step_moves_a_task_to_a_copy_that_is_behind() -> None:
    num_moved = num_staged = 0
    for seed in range(300):
        state, target, warmups = draw_group(random.Random(seed))
        step = refine(state, target, warmups)
        owner = np.array(
            [next((c for c, ts in enumerate(state.previous_active) if t in ts), -1) for t in state.tasks.ids]
        )
        moved = np.flatnonzero((step.columns.active != owner) & state.tasks.stateful)
        for row in moved.tolist():
            is_processed = owner[row] >= 0 and state.lags[row, owner[row]] == LATEST_OFFSET
            lag, new_owner = int(state.lags[row, target.active[row]]), int(target.active[row])
            assert not is_processed or (state.tasks.ids[row] in state.previous_standby[new_owner] and lag <= 10_000)
        assert step.warmup.sum() <= state.assignment_configs.max_warmup_replicas
        assert not (step.warmup & ~step.columns.standby).any()
        assert not step.columns.standby[np.arange(len(owner)), step.columns.active].any(), "one copy per process"
        num_moved, num_staged = num_moved + len(moved), num_staged + int(step.staged.sum())
        standbys, before = step.columns.standby & ~step.warmup, np.zeros_like(step.warmup)
        for client, tasks in enumerate(state.previous_standby):
            before[[state.row_of_task[task] for task in tasks], client] = True
        assert not (standbys & ~target.standby & ~before).any(), "a step adds only standbys of the target"
        most = np.maximum(target.standby.sum(axis=1), before.sum(axis=1))
        assert (standbys.sum(axis=1) <= most).all()
    assert min(num_moved, num_staged) > 200


def test_steps_reach_the_target_if_copies_catch_up_and_wait_if_not() -> None:
    for seed in range(150):
        state, target, warmups = draw_group(random.Random(seed))
        step = refine(state, target, warmups)
        waiting = refine(after_step(state, step, caught_up=False), target, step.warmup)
        assert (waiting.staged == step.staged).all(), "nothing has caught up"
        assert (waiting.columns.active == step.columns.active).all()
        rounds = 0
        while step.staged.any():
            rounds += 1
            assert rounds <= len(state.tasks)
            state = after_step(state, step, caught_up=True)
            step = refine(state, target, step.warmup)
        assert (step.columns.active == target.active).all()
        assert (step.columns.standby == target.standby).all()


def test_preview_needs_an_explicit_parameter() -> None:
    preview = registry.find("streams_group_sticky@trunk")
    for parameters in ({}, {"preview": False}, {"preview": "yes"}):
        with pytest.raises(UnknownAssignorError, match="set its parameter preview to true"):
            registry.make(preview, parameters)
    assert registry.make(preview, {"preview": True}) == StreamsGroupPreview(preview=True)
    with pytest.raises(UnknownAssignorError, match="preview of an unreleased Kafka"):
        sim.run("cold_start", "streams_group_sticky@trunk", seed=1)


def test_no_other_name_means_the_preview() -> None:
    named = [info for info in registry.built_in() for _ in info.releases]
    named += [info.at(release) for info in registry.built_in() for release in info.releases]
    assert all(info.make is not StreamsGroupPreview for info in named)
    assert registry.find("streams_group_sticky").kafka_version == "4.4"


def test_scenario_must_opt_in() -> None:
    text = sim.load("cold_start").text.partition("\nassignors:")[0]
    entry = "\nassignors:\n  - {assignor: streams_group_sticky@trunk, configs: {group.protocol: streams}%s}\n"
    with pytest.raises(sim.ScenarioError, match="set its parameter preview to true"):
        sim.loads(text + entry % "")
    assert sim.loads(text + entry % ", parameters: {preview: true}").assignors[0].info.release == "trunk"


def test_warmups_replace_downtime_in_a_simulation() -> None:
    """After a scale-out, tasks run on while their new owners warm up; then, all clients have their share."""
    configs = "{group.protocol: streams, max.warmup.replicas: 3, acceptable.recovery.lag: 20000}"
    events = "[{at: 1h, scale_out: {clients: more}}]"
    scenario = sim.load("migration_to_streams_groups", [("application.configs", configs), ("events", events)])
    result = sim.run(scenario, ["streams_group_sticky", StreamsGroupPreview(preview=True)], seed=1)
    without, with_warmups = result.traces.values()
    shares = [sorted(np.bincount(trace.rounds[-1].owner).tolist()) for trace in (without, with_warmups)]
    assert shares[0] == shares[1]
    stateful = without.layout.tasks.stateful
    assert without.downtime_ms[stateful].max() > 20_000
    assert with_warmups.downtime_ms[stateful].max() < 10_000
    steps = [step for step in with_warmups.rounds if step.reason == "copies have caught up"]
    assert len(steps) > 2
    assert all(len(step.standby) <= 3 for step in with_warmups.rounds)
    assert len(with_warmups.rounds[-1].standby) == 0
