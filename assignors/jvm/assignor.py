"""A task assignor in Java as an assignor of this project: requests, answers, and how long its calls took.

The times are measured in Java; results of runs do not depend on them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from statistics import median
from types import MappingProxyType
from typing import Any, Final
from zipfile import ZipFile

import numpy as np

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import (
    AssignorError,
    CustomAssignorError,
    InvalidAssignmentError,
    KafkaError,
    UnknownAssignorError,
)
from assignors.java.hash_order import CollectionOrder
from assignors.jvm.process import LOCK, JavaError, java_process
from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.columns import NO_RACK, IntArray, PartitionTable, Ragged, TaskTable
from assignors.model.group_spec import GroupSpec, MemberAssignment, MemberAssignmentState, TopologyDescriber
from assignors.model.ids import ProcessId, TaskId
from assignors.model.sequence import UNCHANGED_ROUNDS, MembershipSequence, SequenceOutcome
from assignors.model.state import NO_LAG, ApplicationState
from assignors.tasks.group_spec_assignor import assign_group, group_spec_of, topology_of
from assignors.tasks.streams_group_sticky import members_of

_MAX_CALLS: Final = 100_000
"""Number of calls whose times are kept: enough for the median of long sweeps."""


@dataclass(slots=True)
class CallTimes:
    """The calls of one Java assignor in this process.

    Attributes:
        java_ns: time of `assign` alone, measured in Java, in the order of the calls.
        total_ns: time of each exchange, with writing and reading JSON in Java.
        count: number of calls.
    """

    reference: str
    java_ns: list[int]
    total_ns: list[int]
    count: int = 0

    def __str__(self) -> str:
        first, median_ms, longest = (ns / 1e6 for ns in (self.java_ns[0], median(self.java_ns), max(self.java_ns)))
        bridge_ms = median(self.total_ns) / 1e6 - median_ms
        return (
            f"{self.count:,} calls; in Java, median {median_ms:.3g} ms, first {first:.3g} ms, "
            f"longest {longest:.3g} ms; bridge {bridge_ms:.2g} ms more"
        )


_TIMES: dict[str, CallTimes] = {}


def record_call(reference: str, java_ns: int, total_ns: int) -> None:
    """Record a call that returned."""
    times = _TIMES.setdefault(reference, CallTimes(reference, [], []))
    times.count += 1
    if len(times.java_ns) < _MAX_CALLS:
        times.java_ns.append(java_ns)
        times.total_ns.append(total_ns)


def call_times() -> list[CallTimes]:
    """Return the calls of each Java assignor in this process, in the order of the first calls."""
    return list(_TIMES.values())


class StateEncoder:
    """Writes states as requests; the tasks and partitions of one application are written once.

    The leader of a group builds each state from the same tables, unless partitions move.
    """

    def __init__(self, key: str) -> None:
        """Create an encoder.

        `key`: names the assignor in requests.
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

        Raises InvalidAssignmentError if a name is not that of a task or a process.
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

    `key`: names the assignor. `group`: the group; Java sees its members in the same order.
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
    return {subtopology: list(by_partition.items()) for subtopology, by_partition in offsets.items()}


def decode_group(answer: Mapping[str, Any]) -> dict[str, MemberAssignment]:
    """Return the tasks of each member in an answer; not validated."""
    return {
        member_id: MemberAssignment(*({name: frozenset(numbers) for name, numbers in role.items()} for role in roles))
        for member_id, roles in answer["members"].items()
    }


def encode_sequences(java: JavaClass, sequences: Sequence[MembershipSequence]) -> bytes:
    """Return the request for the outcomes of sequences; members of streams groups are in the order of their ids."""
    columns = _group_sequence if java.interface == "coordinator" else _client_sequence
    return json.dumps(
        {
            "kind": "sequences",
            "name": java.key,
            "unchanged_rounds": UNCHANGED_ROUNDS,
            "sequences": list(map(columns, sequences)),
        }
    ).encode()


def _client_sequence(sequence: MembershipSequence) -> dict[str, Any]:
    state = sequence.empty_state(range(len(sequence.processes)))
    tasks = len(state.tasks)
    return {
        "configs": asdict(state.assignment_configs),
        "tasks": {
            "ids": list(map(str, state.tasks.ids)),
            "stateful": state.tasks.stateful.tolist(),
            "sources": [[]] * tasks,
            "changelogs": [[]] * tasks,
            "order": list(range(tasks)),
        },
        "partitions": {"topics": [], "numbers": [], "racks": []},
        "processes": sequence.processes,
        "rounds": sequence.rounds,
    }


def _group_sequence(sequence: MembershipSequence) -> dict[str, Any]:
    members = sorted(
        (f"{process}-StreamThread-{thread + 1}", process, place)
        for place, (process, threads) in enumerate(sequence.processes)
        for thread in range(threads)
    )
    return {
        "configs": {"num.standby.replicas": str(sequence.standbys), "rack.aware.assignment.tags": ""},
        "subtopologies": [
            [str(number), tasks, has_state] for number, (tasks, has_state) in enumerate(sequence.subtopologies)
        ],
        "members": [member[:2] for member in members],
        "rounds": [
            [number for number, member in enumerate(members) if member[2] in present] for present in sequence.rounds
        ],
    }


_PUBLIC_INTERFACE = "org/apache/kafka/coordinator/group/api/streams/assignor/TaskAssignor.class"
_HIGH_AVAILABILITY = "org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor"


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class that was found, and its class path.

    Attributes:
        interface: `streams` or `coordinator`.
        classes: absolute paths of jars and class folders.
        key: names this version of the class and its jars.
        is_released: whether it is Kafka's own, as released.
    """

    reference: str
    name: str
    interface: str
    classes: tuple[str, ...]
    key: str
    is_released: bool

    @property
    def has_public_interfaces(self) -> bool:
        """Whether its jars have the interfaces of KIP-1357, as those of Kafka from 4.4 on."""
        jars = (path for path in self.classes if path.endswith(".jar"))
        return any(_PUBLIC_INTERFACE in ZipFile(path).namelist() for path in jars)

    def load(self) -> None:
        """Load the class in the JVM of this process.

        Raises UnknownAssignorError if it cannot be loaded, or is not an assignor.
        """
        try:
            with LOCK:
                java_process(DEFAULT_LIMITS).load(self.key, self.name, self.interface, self.classes)
        except JavaError as error:
            raise UnknownAssignorError(_load_problem(self.name, error)) from error
        except CustomAssignorError as error:
            raise UnknownAssignorError(f"{self.name}: {error}") from error

    def call(self, request: bytes, limits: CallLimits) -> Mapping[str, Any]:
        """Send a request to the JVM of this process.

        Raises KafkaError if Kafka's own assignor throws for this input; and CustomAssignorError if the assignor failed,
        in any way.
        """
        started = time.perf_counter_ns()
        answer = self.ask(request, limits)
        record_call(self.reference, int(answer["nanos"]), time.perf_counter_ns() - started)
        return answer

    def ask(self, request: bytes, limits: CallLimits) -> Mapping[str, Any]:
        """Send a request to the JVM of this process; raises what `call` does."""
        try:
            with LOCK:
                process = java_process(limits)
                process.load(self.key, self.name, self.interface, self.classes)
                return process.answer(request, limits.timeout_s)
        except JavaError as error:
            raise self._failure(error) from error
        except UnknownAssignorError as error:
            raise CustomAssignorError(str(error)) from error

    def _failure(self, error: JavaError) -> AssignorError:
        if self.is_released:
            for kafka_error in _subclasses(KafkaError):
                if kafka_error.java_class == error.java_class:
                    return kafka_error(error.message)
        place = f" ({error.location})" if error.location else ""
        return CustomAssignorError(f"raised {error}{place}")


@dataclass(frozen=True, slots=True)
class JavaAssignor:
    """A task assignor in Java; for streams groups, one that a group coordinator runs.

    Attributes:
        order: for streams groups, as in `GroupSpecAssignor`.
        members: for streams groups, as in `GroupSpecAssignor`.
        limits: limits of each call, and of the heap.
    """

    java: JavaClass
    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)
    limits: CallLimits = DEFAULT_LIMITS
    _encoder: StateEncoder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_encoder", StateEncoder(self.java.key))

    @property
    def class_name(self) -> str:
        """Return the simple name of the class, for messages."""
        return self.java.name.rpartition(".")[2]

    @property
    def falls_back_without_lags(self) -> bool:
        """Return whether Kafka replaces the assignor by its fallback while lags are unknown."""
        return self.java.name == _HIGH_AVAILABILITY

    def with_limits(self, limits: CallLimits) -> JavaAssignor:
        """Return the same assignor with these limits."""
        return JavaAssignor(self.java, self.order, self.members, limits)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Ask the JVM.

        Returns the assignment; of a class for streams groups, it is validated. Raises AssignorError if the assignment
        is invalid, and as `JavaClass.call`.
        """
        if self.java.interface == "coordinator":
            return assign_group(state, self.order, self.members, self._ask_for_group)
        return self._encoder.decode(state, self.java.call(self.request(state), self.limits))

    def _ask_for_group(self, group: GroupSpec, topology: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        return decode_group(self.java.call(encode_group(self.java.key, group, topology), self.limits))

    def request(self, state: ApplicationState) -> bytes:
        """Return the request for an assignment of a state."""
        if self.java.interface == "coordinator":
            members = members_of(state, self.order, self.members)
            return encode_group(self.java.key, group_spec_of(state, members), topology_of(state))
        return self._encoder.encode(state)

    def run_sequences(self, sequences: Sequence[MembershipSequence]) -> list[SequenceOutcome]:
        """Run sequences in the JVM.

        Raises CustomAssignorError if the JVM did not answer within the time limit of a call, or ended.
        """
        answer = self.java.ask(encode_sequences(self.java, sequences), self.limits)
        return [SequenceOutcome(tuple(violated), *uneven) for violated, *uneven in answer["outcomes"]]


@dataclass(frozen=True, slots=True)
class MakeJavaAssignor:
    """Builds an assignor of clients; it has no parameters."""

    java: JavaClass

    def __call__(self) -> JavaAssignor:
        """Build the assignor."""
        return JavaAssignor(self.java)


@dataclass(frozen=True, slots=True)
class MakeCoordinatorAssignor:
    """Builds an assignor of a group coordinator."""

    java: JavaClass

    def __call__(
        self,
        order: CollectionOrder = CollectionOrder.PRODUCTION,
        members: Mapping[str, str] = MappingProxyType({}),
    ) -> JavaAssignor:
        """Build the assignor; the parameters are those of `GroupSpecAssignor`."""
        return JavaAssignor(self.java, CollectionOrder(order), dict(members))


def _load_problem(name: str, error: JavaError) -> str:
    if error.java_class == "java.lang.ClassNotFoundException" and error.message == name:
        return f"its jars have no class {name}"
    if error.java_class in ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError"):
        return f"its jars have no class {error.message.replace('/', '.')}, which {name} needs"
    if error.java_class == "java.lang.ClassCastException":
        return f"{name} is not an assignor: it {error.message}"
    if error.java_class == "java.lang.NoSuchMethodException":
        return f"{name} has no constructor without parameters"
    if error.java_class == "java.lang.InstantiationException":
        return f"{name} is abstract"
    if error.java_class == "java.lang.UnsupportedClassVersionError":
        return f"{name} was compiled for a newer Java: {error.message}"
    return f"{name} raised {error}{f' ({error.location})' if error.location else ''}"


def _subclasses(base: type[KafkaError]) -> list[type[KafkaError]]:
    return [found for child in base.__subclasses__() for found in (child, *_subclasses(child))]
