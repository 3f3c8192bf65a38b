"""Assignors with one deliberate mistake each, as reviews must find them."""

from __future__ import annotations

import os
import signal
import zlib
from dataclasses import dataclass, field

from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.sticky import Sticky


def _as_lists(assignment: TaskAssignment) -> list[KafkaStreamsAssignment]:
    return list(assignment.assignment)


class DropsTask:
    """Drops a task for one group in 500, by the process ids of its clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        entries = _as_lists(HighAvailability().assign(state))
        if zlib.crc32(repr(state.clients.ids).encode()) % 500 == 7:
            for number, entry in enumerate(entries):
                active = [task for task, role in entry.tasks.items() if role is TaskType.ACTIVE]
                if active:
                    kept = {task: role for task, role in entry.tasks.items() if task != active[0]}
                    entries[number] = KafkaStreamsAssignment(entry.process_id, kept, entry.followup_rebalance_delay_ms)
                    break
        return TaskAssignment(entries)


class Oscillates:
    """Moves the first task away from the client that ran it before, in groups of three or more clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        entries = _as_lists(HighAvailability().assign(state))
        first = state.tasks.ids[0]
        owners = [n for n, held in enumerate(state.previous_active) if first in held]
        if len(entries) < 3 or not owners:
            return TaskAssignment(entries)
        target = entries[(owners[0] + 1) % len(entries)].process_id
        moved = []
        for entry in entries:
            tasks = {task: role for task, role in entry.tasks.items() if task != first}
            if entry.process_id == target:
                tasks[first] = TaskType.ACTIVE
            moved.append(KafkaStreamsAssignment(entry.process_id, tasks, None))
        return TaskAssignment(moved)


class DependsOnOrder:
    """Distributes the tasks in turn over the clients as they are listed."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        clients = list(state.kafka_streams_states)
        tasks: dict = {client: {} for client in clients}
        for number, task in enumerate(sorted(state.all_tasks)):
            tasks[clients[number % len(clients)]][task] = TaskType.ACTIVE
        return TaskAssignment(KafkaStreamsAssignment(client, held) for client, held in tasks.items())


class ChangesState:
    """Writes into the client tags of the state."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        state.clients.tags[0]["seen"] = "true"
        return Sticky().assign(state)


@dataclass
class KeepsState:
    """Gives the tasks of the last client to the first one from its fourth call on."""

    calls: list[int] = field(default_factory=list)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self.calls.append(1)
        entries = _as_lists(HighAvailability().assign(state))
        if len(self.calls) < 4 or len(entries) < 2:
            return TaskAssignment(entries)
        first, last = entries[0], entries[-1]
        active = {task: role for task, role in last.tasks.items() if role is TaskType.ACTIVE}
        entries[0] = KafkaStreamsAssignment(first.process_id, {**first.tasks, **active}, None)
        rest = {task: role for task, role in last.tasks.items() if task not in active}
        entries[-1] = KafkaStreamsAssignment(last.process_id, rest, None)
        return TaskAssignment(entries)


class RaisesMisleadingText:
    """Raises an exception whose text is like that of other mistakes."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        raise ValueError("the solver is not deterministic, and changed the state")


class Raises:
    """Fails if a client has no thread left for a standby: in groups of four or more clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        if len(state.clients) >= 4:
            raise RuntimeError("no room")
        return HighAvailability().assign(state)


class KillsItsProcess:
    """Ends its process in groups of six or more clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        if len(state.clients) >= 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return HighAvailability().assign(state)
