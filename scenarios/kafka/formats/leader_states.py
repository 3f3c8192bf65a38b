"""State of the clients in a leader's log: the input of the assignor, with lags.

`HighAvailabilityTaskAssignor` logs it at INFO with its answer, and the leader at DEBUG before any assignor.

Source: `ClientState.toString`; `HighAvailabilityTaskAssignor.assign` (`Decided on assignment`),
`StreamsPartitionAssignor.assignTasksToInternalClients` (`Assigning tasks and … standby replicas`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scenarios.kafka.formats.leader_log import find_time_ms
from scenarios.kafka.naming import UUID_PATTERN

_STATES = ("Decided on assignment: {", "Assigning tasks and ")
_CLIENT = re.compile(
    rf"({UUID_PATTERN})=\[activeTasks: \(\[[^\]]*\]\) standbyTasks: \(\[[^\]]*\]\) prevActiveTasks: \(\[([^\]]*)\]\) "
    r"prevStandbyTasks: \(\[([^\]]*)\]\) changelogOffsetTotalsByTask: \(\[[^\]]*\]\) taskLagTotals: \(\[([^\]]*)\]\)"
)
_LAG = re.compile(r"(\d{1,9}_\d{1,9})=(-?\d{1,19})")
_TASK = re.compile(r"\d{1,9}_\d{1,9}")


@dataclass(frozen=True, slots=True)
class StateBeforeAssignment:
    """State of a client before an assignment.

    Attributes:
        active: Previous active tasks.
        standby: Previous standby tasks.
        lags: Lag of each stateful task, as in `KafkaStreamsState.task_lags`.
    """

    active: tuple[str, ...]
    standby: tuple[str, ...]
    lags: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LoggedState:
    """State of all clients before an assignment.

    Attributes:
        at_ms: Time since 1970, read as UTC.
        clients: State by process id.
    """

    at_ms: int
    clients: Mapping[str, StateBeforeAssignment]


def parse_states(text: str) -> Iterator[LoggedState]:
    """Yield the states in a log, in its order; lines without a time and truncated ones are skipped."""
    for line in text.split("\n"):
        if not any(start in line for start in _STATES):
            continue
        at_ms = find_time_ms(line)
        clients = {
            process: StateBeforeAssignment(
                tuple(_TASK.findall(active)),
                tuple(_TASK.findall(standby)),
                {task: int(lag) for task, lag in _LAG.findall(lags)},
            )
            for process, active, standby, lags in _CLIENT.findall(line)
        }
        if at_ms is not None and clients and len(clients) == line.count("taskLagTotals: ("):
            yield LoggedState(at_ms, clients)
