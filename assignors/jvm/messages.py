"""Requests to Java assignors and their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from assignors.errors import InvalidAssignmentError
from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.columns import NO_RACK, IntArray, PartitionTable, Ragged, TaskTable
from assignors.model.group_spec import GroupSpec, MemberAssignment, MemberAssignmentState, TopologyDescriber
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import NO_LAG, ApplicationState


class StateEncoder:
    """Writes states as requests; the tasks and partitions of one application are written once.

    The leader of a group builds each state from the same tables, unless partitions move.
    """

    def __init__(self, key: str) -> None:
        """Create an encoder.

        Args:
            key: names the assignor in requests.
        """
        self._key = json.dumps(key)
        self._tasks: tuple[TaskTable, str, dict[str, TaskId]] | None = None
        self._partitions: tuple[PartitionTable, str] | None = None

    def encode(self, state: ApplicationState) -> bytes:
        """Return the request for an assignment of a state."""
        tasks, _ = self._task_columns(state.tasks)
        order = json.dumps(_order(state.task_insertion_order, len(state.tasks)))
        configs, clients = json.dumps(asdict(state.assignment_configs)), json.dumps(_client_columns(state))
        return (
            f'{{"kind":"assign","name":{self._key},"configs":{configs},"tasks":{{{tasks},"order":{order}}},'
            f'"partitions":{self._partition_columns(state.partitions)},"clients":{clients}}}'
        ).encode()

    def decode(self, state: ApplicationState, answer: Mapping[str, Any]) -> TaskAssignment:
        """Return the assignment in an answer; not validated.

        Raises:
            InvalidAssignmentError: a name is not that of a task or a process.
        """
        _, ids = self._task_columns(state.tasks)
        processes = {str(process): process for process in state.clients.ids}
        try:
            return TaskAssignment(
                KafkaStreamsAssignment(
                    processes.get(process) or ProcessId.parse(process),
                    {
                        ids.get(task) or TaskId.parse(task): role
                        for tasks, role in ((active, TaskType.ACTIVE), (standby, TaskType.STANDBY))
                        for task in tasks
                    },
                    delay_ms,
                )
                for process, active, standby, delay_ms in answer["clients"]
            )
        except ValueError as error:
            raise InvalidAssignmentError(str(error)) from error

    def _task_columns(self, tasks: TaskTable) -> tuple[str, dict[str, TaskId]]:
        if self._tasks is None or self._tasks[0] is not tasks:
            ids = {str(task): task for task in tasks.ids}
            columns = {
                "ids": list(ids),
                "stateful": tasks.stateful.tolist(),
                "sources": list(_lists(tasks.source)),
                "changelogs": list(_lists(tasks.changelog)),
            }
            self._tasks = (tasks, json.dumps(columns)[1:-1], ids)
        return self._tasks[1], self._tasks[2]

    def _partition_columns(self, partitions: PartitionTable) -> str:
        if self._partitions is None or self._partitions[0] is not partitions:
            columns = {
                "topics": [name.topic for name in partitions.names],
                "numbers": [name.partition for name in partitions.names],
                "racks": list(_racks(partitions)),
            }
            self._partitions = (partitions, json.dumps(columns))
        return self._partitions[1]


def _lists(ragged: Ragged) -> Iterator[list[int]]:
    values, offsets = ragged.values.tolist(), ragged.offsets.tolist()
    for start, end in pairwise(offsets):
        yield values[start:end]


def _racks(partitions: PartitionTable) -> Iterator[list[str | None] | None]:
    """Yield the racks of each partition's replicas, each known one once; None for an unknown partition."""
    for in_rack, is_known in zip(partitions.in_rack, partitions.racks_known.tolist(), strict=True):
        racks: list[str | None] = [partitions.racks[column] for column in np.flatnonzero(in_rack).tolist()]
        if is_known:
            yield racks
        else:
            yield [*racks, None] if racks else None


def _order(rows: IntArray | None, count: int) -> list[int]:
    return list(range(count)) if rows is None else rows.tolist()


def _client_columns(state: ApplicationState) -> dict[str, Any]:
    clients = state.clients
    has_lag = np.flatnonzero((state.lags != NO_LAG).any(axis=1))
    return {
        "ids": list(map(str, clients.ids)),
        "racks": [None if rack == NO_RACK else state.partitions.racks[rack] for rack in clients.rack.tolist()],
        "threads": clients.threads.tolist(),
        "tags": list(map(dict, clients.tags)),
        "previous_active": [list(map(str, tasks)) for tasks in state.previous_active],
        "previous_standby": [list(map(str, tasks)) for tasks in state.previous_standby],
        "lag_rows": has_lag.tolist(),
        "lags": state.lags[has_lag].T.tolist(),
        "order": _order(state.client_insertion_order, len(clients)),
    }


def encode_group(key: str, group: GroupSpec, topology: TopologyDescriber) -> bytes:
    """Return the request for an assignment of a streams group.

    Args:
        key: names the assignor.
        group: the group; Java sees its members in the same order.
        topology: its subtopologies.
    """
    configs = group.configs
    request = {
        "kind": "assign",
        "name": key,
        "configs": {
            "num.standby.replicas": str(configs.num_standby_replicas),
            "rack.aware.assignment.tags": ",".join(configs.rack_aware_assignment_tags),
        },
        "subtopologies": [
            [name, topology.partitions[name], name in topology.stateful] for name in topology.subtopologies()
        ],
        "members": [
            {
                "id": member_id,
                "process_id": metadata.process_id,
                "instance_id": metadata.instance_id,
                "rack_id": metadata.rack_id,
                "client_tags": dict(metadata.client_tags),
                **_member_columns(group.states[member_id]),
            }
            for member_id, metadata in group.metadata.items()
        ],
    }
    return json.dumps(request).encode()


def _member_columns(state: MemberAssignmentState) -> dict[str, Any]:
    return {
        "active_tasks": _sorted(state.active_tasks),
        "standby_tasks": _sorted(state.standby_tasks),
        "task_offsets": _pairs(state.task_offsets),
        "task_end_offsets": _pairs(state.task_end_offsets),
    }


def _sorted(tasks: Mapping[str, Set[int]]) -> dict[str, list[int]]:
    return {subtopology: sorted(partitions) for subtopology, partitions in tasks.items()}


def _pairs(offsets: Mapping[str, Mapping[int, int]]) -> dict[str, list[tuple[int, int]]]:
    return {subtopology: sorted(by_partition.items()) for subtopology, by_partition in offsets.items()}


def decode_group(answer: Mapping[str, Any]) -> dict[str, MemberAssignment]:
    """Return the tasks of each member in an answer; not validated."""
    return {
        member_id: MemberAssignment(*({name: frozenset(numbers) for name, numbers in role.items()} for role in roles))
        for member_id, roles in answer["members"].items()
    }
