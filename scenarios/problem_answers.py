"""Answers of assignors to problems, and how they differ from recorded ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

from assignors import registry
from assignors.consumers.registry import find as find_consumer_assignor
from assignors.containment.contained import ContainedAssignor, assignor_name
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import AssignorError, ConfigError, CustomAssignorError, InvalidAssignmentError, KafkaError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import AssignmentColumns, TaskType
from assignors.model.ids import TaskId
from assignors.tasks.rack_aware import rack_costs
from scenarios.consumer_problems import consumer_answer, parse_consumer_problem
from scenarios.problems import Json, Problem, ProblemError, parse_problem

_CLIENTS_WITHOUT_RELEASE: Final = "4.3"
"""Release of clients of a problem without `kafka`: up to this one, all give the same answers, so none was recorded."""

ProblemAnswer = dict[str, Any]


def solve_problem(
    problem: Problem,
    name: str,
    assignor: registry.AssignorInfo | None = None,
    order: CollectionOrder = CollectionOrder.PRODUCTION,
    limits: CallLimits = DEFAULT_LIMITS,
) -> ProblemAnswer:
    """Solve a problem with the assignor that it names, or with another one.

    `name`: the file name for messages. `order`: the order of collections, for assignors whose answers depend on it; the
    default also keeps the order in which the problem lists tasks and clients. `limits`: limits of a custom assignor.
    Returns the answer; `nanos` is the time of the assignor alone, and `error` holds a Kafka exception, or what went
    wrong with a custom assignor. Raises ProblemError if the problem does not conform to the schema, or its assignor is
    unknown.
    """
    if problem.is_of_consumers:
        return _solve_consumer_problem(problem, name, assignor)
    try:
        info = assignor or _named_assignor(problem.problem)
        parameters = signature(info.make).parameters if info.parameter_names is None else info.parameter_names
        strategy = registry.make_contained(info, {"order": order} if "order" in parameters else {}, limits)
        state = parse_problem(problem.problem)
    except ConfigError as error:
        return _error_answer(problem, error, 0)
    except (AssignorError, ValueError) as error:
        raise ProblemError(f"{name}:{problem.line}: {error}") from None
    started = time.perf_counter_ns()
    try:
        assignment = strategy.assign(state)
    except KafkaError as error:
        return _error_answer(problem, error, time.perf_counter_ns() - started)
    except (CustomAssignorError, InvalidAssignmentError) as error:
        named = CustomAssignorError(f"{assignor_name(strategy)}: {error}")
        return _error_answer(problem, named, time.perf_counter_ns() - started)
    nanos = time.perf_counter_ns() - started
    if isinstance(strategy, ContainedAssignor):
        nanos = strategy.nanos
    try:
        columns = AssignmentColumns.of(state, assignment)
    except InvalidAssignmentError as error:
        return _error_answer(problem, error, nanos)
    costs = rack_costs(state, columns, info.weights.configured(state.assignment_configs).traffic_cost)
    return {
        "id": problem.id,
        "assignment": {
            str(client.process_id): {
                "active": _names(client.tasks, TaskType.ACTIVE),
                "standby": _names(client.tasks, TaskType.STANDBY),
            }
            for client in assignment.assignment
        },
        "probing_rebalance": assignment.followup_rebalance_delay_ms is not None,
        "active_cost": costs.active,
        "stateless_cost": costs.stateless,
        "standby_cost": costs.standby,
        "nanos": nanos,
        "error": None,
    }


def _named_assignor(problem: Json) -> registry.AssignorInfo:
    """Return the assignor that a problem names, of its release."""
    info = registry.find(str(problem["assignor"]))
    stated = problem.get("kafka")
    release = None if stated is None else str(stated)  # The schema is checked later.
    return info.in_group(release, release or _CLIENTS_WITHOUT_RELEASE)


def _solve_consumer_problem(problem: Problem, name: str, assignor: registry.AssignorInfo | None) -> ProblemAnswer:
    try:
        if assignor is not None:
            raise ValueError(f"{assignor.name} assigns tasks, but this is a problem of a consumer group")
        state = parse_consumer_problem(problem.problem)
        strategy = find_consumer_assignor(str(problem.problem["assignor"]), problem.problem.get("protocol")).make()
    except (AssignorError, ValueError) as error:
        raise ProblemError(f"{name}:{problem.line}: {error}") from None
    started = time.perf_counter_ns()
    answer: ProblemAnswer = {"id": problem.id, "assignment": None, "withheld": {}, "nanos": 0, "error": None}
    try:
        assignment = strategy.assign(state)
    except KafkaError as error:
        return {**answer, "nanos": time.perf_counter_ns() - started, "error": str(error)}
    nanos = time.perf_counter_ns() - started
    withheld = {str(state.topic_partition(key)): state.member_ids[member] for key, member in assignment.withheld}
    return {**answer, "assignment": consumer_answer(state, assignment), "withheld": withheld, "nanos": nanos}


def _names(tasks: Mapping[TaskId, TaskType], role: TaskType) -> list[str]:
    return [str(task) for task in sorted(task for task, task_type in tasks.items() if task_type is role)]


def _error_answer(problem: Problem, error: AssignorError, nanos: int) -> ProblemAnswer:
    empty_fields = dict.fromkeys(("assignment", "active_cost", "stateless_cost", "standby_cost"))
    return {"id": problem.id, **empty_fields, "probing_rebalance": False, "nanos": nanos, "error": str(error)}


def answer_differences(expected: Json, given: Json) -> list[str]:
    """Return the fields in which an answer differs from the expected one; of errors, only the class is compared."""
    if expected.get("error") or given.get("error"):
        expected_class, given_class = _error_class(expected), _error_class(given)
        return [] if expected_class == given_class else [f"error: expected {expected_class}, got {given_class}"]
    fields = ("assignment", "probing_rebalance", "active_cost", "stateless_cost", "standby_cost")
    return [
        f"{field}: expected {expected[field]}, got {given.get(field)}"
        for field in fields
        if field in expected and expected[field] != given.get(field)
    ]


def _error_class(answer: Json) -> str | None:
    error = answer.get("error")
    return None if error is None else str(error).split(":", 1)[0]
