"""Answers of this project to the calls that Kafka's unit tests make.

A request has the class and the method, and what Kafka's code would see: the state as a problem (`scenarios.problems`),
in the order of the caller's collections, and what is assigned already. An answer is equal to Kafka's if it is the same
JSON: what is assigned after the call, and what the method returns, or the class of the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from assignors.errors import KafkaError
from assignors.java.hash_order import process_hash, task_hash
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskType
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective import STICKY_WEIGHTS, Weights
from assignors.recording import NO_RECORDER
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import place_sticky
from assignors.tasks.rack_aware import can_enable, optimize_active_tasks, optimize_standby_tasks, traffic_by_rack
from assignors.tasks.standby import LeastLoadedStandbys, TagAwareStandbys, no_tag_constraints, standby_policy
from assignors.tasks.stickiness import CallerCollections
from assignors.tasks.sticky import Sticky, optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks
from assignors.tasks.task_placement import TaskPlacement
from assignors.tasks.thread_assignment import distribute, in_text_order
from scenarios.problems import parse_problem

Json = Mapping[str, Any]
Answer = dict[str, Any]


def answer(request: Json, release: str) -> Answer:
    """Answer a call as the released class does.

    `release`: of the clients, such as `4.3`.
    """
    try:
        return _METHODS[request["class"].rpartition(".")[2], request["method"]](request, release)
    except KafkaError as error:
        return {"error": error.java_class}


def with_a_moved_task(answer: Answer) -> Answer:
    """Return a wrong answer: one active task, or else one standby, is with another client or thread."""
    holders = answer.get("assigned", {})
    for role in ("active", "standby"):
        for holder, tasks in holders.items():
            listed = tasks[role] if isinstance(tasks, dict) else tasks
            for other, others in holders.items():
                if other == holder or not listed:
                    continue
                held = others[role] if isinstance(others, dict) else others
                everything = [*others["active"], *others["standby"]] if isinstance(others, dict) else held
                if listed[0] not in everything:
                    held.append(listed.pop(0))
                    held.sort()
                    return answer
    return answer


def _state(request: Json) -> ApplicationState:
    return parse_problem({"assignor": "ha", **request["state"]})


def _placement(state: ApplicationState, request: Json) -> TaskPlacement:
    """Return what is assigned before the call."""
    placement = TaskPlacement(state)
    for client, id_ in enumerate(state.clients.ids):
        assigned = request["assigned"].get(str(id_), {"active": [], "standby": []})
        for name in assigned["active"]:
            placement.assign_active(state.row_of_task[TaskId.parse(name)], client)
        for name in assigned["standby"]:
            placement.assign_standby(state.row_of_task[TaskId.parse(name)], client)
    return placement


def _answer(state: ApplicationState, columns: AssignmentColumns, result: bool | int | None) -> Answer:
    assigned = {}
    for entry in columns.entries(state):
        assigned[str(entry.process_id)] = {
            str(role).lower(): [str(task) for task, held in sorted(entry.tasks.items()) if held is role]
            for role in TaskType
        }
    return {"assigned": assigned, "result": result}


def _rows(state: ApplicationState, names: list[str]) -> list[int]:
    return [state.row_of_task[TaskId.parse(name)] for name in names]


def _caller(state: ApplicationState, request: Json) -> CallerCollections:
    """Return the orders of the caller's collections, which the request lists."""
    assert state.client_insertion_order is not None
    assert state.task_insertion_order is not None
    return CallerCollections(
        clients=state.client_insertion_order.tolist(),
        tasks=state.task_insertion_order.tolist(),
        stateful_tasks=_rows(state, request.get("stateful", [])),
        client_hashes=[process_hash(client) for client in state.clients.ids],
        task_hashes=[task_hash(task) for task in state.tasks.ids],
    )


def _high_availability(request: Json, release: str) -> Answer:
    state = _state(request)
    assignment = HighAvailability().assign(state)
    columns = AssignmentColumns.of(state, assignment)
    return _answer(state, columns, columns.followup_rebalance_delay_ms is not None)


def _legacy_sticky(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = place_sticky(
        state,
        _caller(state, request),
        preserve_actives=request.get("preserves", False),
        rack_aware=can_enable(state),
        recorder=NO_RECORDER,
    )
    return _answer(state, placement.columns(None), result=False)


def _fallback(request: Json, release: str) -> Answer:
    state = _state(request)
    caller = _caller(state, request)
    placement = place_sticky(state, caller, preserve_actives=True, rack_aware=False, recorder=NO_RECORDER)
    return _answer(state, placement.columns(None), result=True)


def _sticky(request: Json, release: str) -> Answer:
    state = _state(request)
    assignment = Sticky(release=release).assign_in_order(state, _caller(state, request), NO_RECORDER)
    return _answer(state, AssignmentColumns.of(state, assignment), None)


def _standbys(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    if request["class"].endswith("DefaultStandbyTaskAssignor"):
        policy: LeastLoadedStandbys | TagAwareStandbys = LeastLoadedStandbys(state)
    else:
        policy = TagAwareStandbys(state, state.assignment_configs.rack_aware_assignment_tags)
    policy.assign(placement, _rows(state, request["stateful"]), NO_RECORDER)
    return _answer(state, placement.columns(None), result=False)


def _optimized_actives(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    before = placement.owners().copy()
    tasks = _rows(state, request["tasks"])
    weights = Weights(request["traffic_cost"], request["non_overlap_cost"])
    optimize_active_tasks(placement, tasks, weights, NO_RECORDER)
    moved = int((placement.owners() != before).sum()) * weights.non_overlap_cost
    return _answer(state, placement.columns(None), _active_cost(placement, tasks, weights) + moved)


def _active_cost(placement: TaskPlacement, tasks: list[int], weights: Weights) -> int:
    state = placement.state
    traffic = traffic_by_rack(state, state.tasks.source, weights.traffic_cost)
    owners = placement.owners()[tasks]
    held = owners != UNASSIGNED
    return int(traffic[np.array(tasks, dtype=np.intp)[held], state.clients.rack[owners[held]]].sum())


def _cost_of_actives(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    weights = Weights(request["traffic_cost"], request["non_overlap_cost"])
    return _answer(state, placement.columns(None), _active_cost(placement, _rows(state, request["tasks"]), weights))


def _standby_cost(placement: TaskPlacement, tasks: list[int], weights: Weights) -> int:
    state = placement.state
    traffic = traffic_by_rack(state, state.tasks.changelog, weights.traffic_cost)
    clients, held = np.nonzero(placement.standbys())
    counted = np.isin(held, tasks)
    return int(traffic[held[counted], state.clients.rack[clients[counted]]].sum())


def _cost_of_standbys(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    weights = Weights(request["traffic_cost"], request["non_overlap_cost"])
    return _answer(state, placement.columns(None), _standby_cost(placement, _rows(state, request["tasks"]), weights))


def _optimized_standbys(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    weights = Weights(request["traffic_cost"], request["non_overlap_cost"])
    tags = no_tag_constraints(state)
    if request["is_constrained"]:
        tags = TagAwareStandbys(state, state.assignment_configs.rack_aware_assignment_tags).tags_to_keep()
    optimize_standby_tasks(placement, weights, tags, NO_RECORDER)
    return _answer(state, placement.columns(None), _standby_cost(placement, list(range(len(state.tasks))), weights))


def _threads(request: Json, release: str) -> Answer:
    names = {*request["tasks"], *request["lags"], *(name for tasks in request["previous"] for name in tasks)}
    ids = sorted(map(TaskId.parse, names))
    row = {str(id_): number for number, id_ in enumerate(ids)}
    numbers = in_text_order(len(request["consumers"]))
    load, previous = [0] * len(numbers), [[0]] * len(numbers)
    for position, number in enumerate(numbers):
        load[number] = request["load"][position]
        previous[number] = [row[name] for name in request["previous"][position]]
    tasks = [row[name] for name in request["tasks"]]
    lags = {row[name]: lag for name, lag in request["lags"].items()}
    assigned = distribute(tasks, load, previous if request["is_stateful"] else (), lags, lambda: tasks)
    by_consumer = {
        consumer: [str(ids[task]) for task in assigned[number]]
        for consumer, number in zip(request["consumers"], numbers, strict=True)
    }
    return {"assigned": by_consumer, "result": None}


def _utility_standbys(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    tasks = np.flatnonzero(state.tasks.stateful).tolist()
    standby_policy(state).assign(placement, tasks, NO_RECORDER)
    return _answer(state, placement.columns(None), None)


def _utility_weights(state: ApplicationState, request: Json) -> Weights:
    weights = STICKY_WEIGHTS.configured(state.assignment_configs)
    return Weights(
        request.get("traffic_cost", weights.traffic_cost), request.get("non_overlap_cost", weights.non_overlap_cost)
    )


def _utility_actives(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    tasks = _rows(state, request["tasks"]) if "tasks" in request else list(range(len(state.tasks)))
    clients = [state.row_of_client[id_] for id_ in state.clients.ids]
    weights = _utility_weights(state, request)
    optimize_rack_aware_active_tasks(placement, tasks, clients, weights, NO_RECORDER)
    return _answer(state, placement.columns(None), None)


def _utility_optimized_standbys(request: Json, release: str) -> Answer:
    state = _state(request)
    placement = _placement(state, request)
    clients = [state.row_of_client[id_] for id_ in state.clients.ids]
    optimize_rack_aware_standby_tasks(placement, clients, _utility_weights(state, request), NO_RECORDER)
    return _answer(state, placement.columns(None), None)


_METHODS: Mapping[tuple[str, str], Callable[[Json, str], Answer]] = {
    ("HighAvailabilityTaskAssignor", "assign"): _high_availability,
    ("LegacyStickyTaskAssignor", "assign"): _legacy_sticky,
    ("FallbackPriorTaskAssignor", "assign"): _fallback,
    ("StickyTaskAssignor", "assign"): _sticky,
    ("DefaultStandbyTaskAssignor", "assign"): _standbys,
    ("ClientTagAwareStandbyTaskAssignor", "assign"): _standbys,
    ("RackAwareTaskAssignor", "optimizeActiveTasks"): _optimized_actives,
    ("RackAwareTaskAssignor", "optimizeStandbyTasks"): _optimized_standbys,
    ("RackAwareTaskAssignor", "activeTasksCost"): _cost_of_actives,
    ("RackAwareTaskAssignor", "standByTasksCost"): _cost_of_standbys,
    ("StreamsPartitionAssignor", "assignTasksToThreads"): _threads,
    ("TaskAssignmentUtils", "defaultStandbyTaskAssignment"): _utility_standbys,
    ("TaskAssignmentUtils", "optimizeRackAwareActiveTasks"): _utility_actives,
    ("TaskAssignmentUtils", "optimizeRackAwareStandbyTasks"): _utility_optimized_standbys,
}
