"""Families of problems, kinds of differences, and problems without an input feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.analysis.release_differences import ALL
from scenarios.problems import answer_differences

Json = dict[str, Any]

ORDERS = ("sorted", "production")


def families(problem: Json) -> Iterator[str]:
    """Yield the families of a problem: the input features that an assignor could read."""
    yield ALL
    configs, clients = problem["configs"], problem["clients"]
    yield "standbys asked for" if configs["num_standby_replicas"] else "no standbys"
    if any(client["previous_active"] or client["previous_standby"] for client in clients):
        yield "previous tasks"
    else:
        yield "no previous tasks"
    strategy = configs.get("rack_aware_assignment_strategy")
    if strategy is not None:
        yield f"rack-aware: {strategy}"
    else:  # a problem of a coordinator, to which members report
        yield "offsets reported" if any(client.get("task_offsets") for client in clients) else "no offsets"


def kind_of_difference(old: Json, new: Json) -> str | None:
    """Return the attribute of `AnswerDifferences` that counts a pair of answers; None if they are the same.

    An exception whose class only moved to another package is the same.
    """
    old, new = ({order: _without_package(answers[order]) for order in ORDERS} for answers in (old, new))
    changed = [order for order in ORDERS if answer_differences(new[order], old[order])]
    if not changed:
        return None
    if len(changed) == 1:
        return "order_only"
    placements = [(old[order]["assignment"], new[order]["assignment"]) for order in ORDERS]
    if any(None in pair for pair in placements):
        return "other"
    for role, kind in (("active", "actives"), ("standby", "standbys")):
        if any(_held(before, role) != _held(after, role) for before, after in placements):
            return kind
    return "other"


def differs_in_production(old: Json, new: Json) -> bool:
    """Return whether the answers for hash collections differ."""
    return bool(answer_differences(_without_package(new["production"]), _without_package(old["production"])))


def _held(assignment: Json, role: str) -> Json:
    return {process: tasks[role] for process, tasks in assignment.items()}


def _without_package(answer: Json) -> Json:
    error = answer["error"]
    return answer if error is None else {**answer, "error": error.partition(":")[0].rpartition(".")[2]}


def without_standbys(problem: Json) -> Json:
    """Return the problem without standbys asked for."""
    return {**problem, "configs": {**problem["configs"], "num_standby_replicas": 0}}


def without_previous_tasks(problem: Json) -> Json:
    """Return the problem as the first assignment of a group."""
    return _with_clients(problem, previous_active=[], previous_standby=[])


def without_offsets(problem: Json) -> Json:
    """Return the problem without offsets that members report."""
    return _with_clients(problem, task_offsets={}, task_end_offsets={})


def without_racks(problem: Json) -> Json:
    """Return the problem without racks, tags and a rack-aware strategy."""
    configs = {**problem["configs"], "rack_aware_assignment_tags": []}
    if "rack_aware_assignment_strategy" in configs:
        configs["rack_aware_assignment_strategy"] = "none"
    return {**_with_clients(problem, rack=None, tags={}), "configs": configs}


FEATURES: Mapping[str, Callable[[Json], Json]] = {
    "standbys": without_standbys,
    "racks": without_racks,
    "offsets": without_offsets,
    "previous tasks": without_previous_tasks,
}
"""Functions that remove an input feature from a problem."""


def _with_clients(problem: Json, **changes: Any) -> Json:
    return {**problem, "clients": [{**client, **changes} for client in problem["clients"]]}
