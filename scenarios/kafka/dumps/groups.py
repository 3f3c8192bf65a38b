"""Processes of an application, from tool output and logs about its group members."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import ProcessId, TaskId
from scenarios.kafka.formats.consumer_groups import GroupMember
from scenarios.kafka.formats.leader_log import LoggedClient, LoggedRebalance
from scenarios.kafka.formats.streams_groups import StreamsGroupMember
from scenarios.kafka.naming import process_client_id, trailing_uuid
from scenarios.kafka.observation.observation import (
    ObservationError,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    sort_tasks,
)


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """The processes of a group.

    Attributes:
        processes: Processes, by process id.
        assumptions: Sentences on what was assumed.
        listed_members: Member ids of a streams group in the order of the output.
    """

    processes: tuple[ObservedProcess, ...]
    assumptions: tuple[str, ...]
    listed_members: tuple[str, ...] = ()


def from_consumer_group(
    members: Sequence[GroupMember], subtopologies: Sequence[ObservedSubtopology], file: str
) -> ObservedGroup:
    """Build the processes of a classic group, whose tasks follow from the partitions of its members.

    `file`: name of the tool output in messages. Raises ObservationError if a member has a partition that no subtopology
    reads.
    """
    subtopology_of = {topic: subtopology.id for subtopology in subtopologies for topic in subtopology.sources}
    threads: dict[tuple[str, str], list[ObservedThread]] = {}
    static: set[tuple[str, str]] = set()
    for member in members:
        key = process_client_id(member.client_id), member.host
        thread = ObservedThread(member.consumer_id, _tasks_of_partitions(member, subtopology_of, file), ())
        threads.setdefault(key, []).append(thread)
        if member.instance_id is not None:
            static.add(key)
    without_id: list[str] = []
    processes = [
        ObservedProcess(
            _process_id(client_id, f"{client_id} {host}", without_id),
            client_id,
            None,
            {},
            _by_member_id(process_threads),
            is_static=(client_id, host) in static,
        )
        for (client_id, host), process_threads in threads.items()
    ]
    return ObservedGroup(_by_process_id(processes), _generated_id_assumptions(without_id))


def from_streams_group(members: Sequence[StreamsGroupMember]) -> ObservedGroup:
    """Build the processes of a streams group; warm-up tasks count as standbys."""
    threads: dict[str, list[ObservedThread]] = {}
    client_ids: dict[str, str] = {}
    for member in members:
        standby = sort_tasks([*member.tasks.standby, *member.tasks.warmup])
        thread = ObservedThread(member.member_id, sort_tasks(member.tasks.active), standby)
        threads.setdefault(member.process_id, []).append(thread)
        client_ids.setdefault(member.process_id, process_client_id(member.client_id))
    without_id: list[str] = []
    processes = [
        ObservedProcess(_process_id(name, name, without_id), client_ids[name], None, {}, _by_member_id(process_threads))
        for name, process_threads in threads.items()
    ]
    reconciling = sorted(
        client_ids[member.process_id] for member in members if member.target not in (None, member.tasks)
    )
    assumptions = _generated_id_assumptions(without_id)
    if reconciling:
        names = ", ".join(dict.fromkeys(reconciling))
        sentence = f"Members had not reached their target assignment: {names}; their current assignment is used."
        assumptions = (*assumptions, sentence)
    return ObservedGroup(_by_process_id(processes), assumptions, tuple(member.member_id for member in members))


def from_leader(rebalance: LoggedRebalance, application_id: str, threads: int | None) -> ObservedGroup:
    """Return the processes of a logged rebalance.

    `rebalance`: rebalance of the leader's log. `threads`: number of threads of a process for which the log does not
    contain it; None if unknown.
    """
    lacks_threads = any(client.process_id not in rebalance.by_thread for client in rebalance.clients)
    processes = [_logged_process(client, rebalance, application_id, threads) for client in rebalance.clients]
    sentence = (
        "The log does not assign tasks to threads; they are distributed round-robin over the threads of each process."
    )
    return ObservedGroup(_by_process_id(processes), (sentence,) if lacks_threads else ())


def min_standbys(processes: Sequence[ObservedProcess], stateful: Iterable[int]) -> int:
    """Return the minimum number of standbys of the active tasks in stateful subtopologies.

    The minimum excludes warm-up replicas, which only some tasks have in addition.
    """
    stateful_ids = set(stateful)
    active = {task for process in processes for thread in process.threads for task in thread.active}
    standbys = [task for process in processes for thread in process.threads for task in thread.standby]
    return min((standbys.count(task) for task in active if TaskId.parse(task).subtopology in stateful_ids), default=0)


def _tasks_of_partitions(member: GroupMember, subtopology_of: Mapping[str, int], file: str) -> tuple[str, ...]:
    unknown = [partition.topic for partition in member.partitions if partition.topic not in subtopology_of]
    if unknown:
        raise ObservationError(
            f"{file}:{member.line}: {member.client_id} reads '{unknown[0]}', which no subtopology reads; is this the "
            "topology of the application?"
        )
    return sort_tasks(f"{subtopology_of[partition.topic]}_{partition.partition}" for partition in member.partitions)


def _process_id(client_id: str, seed: str, without_id: list[str]) -> str:
    """Return the UUID at the end of a client id (the default), or one derived from `seed`; note the latter case."""
    process_id = trailing_uuid(client_id)
    if process_id is not None:
        return str(uuid.UUID(process_id))
    without_id.append(client_id)
    return str(uuid.uuid5(uuid.NAMESPACE_URL, seed))


def _generated_id_assumptions(client_ids: Sequence[str]) -> tuple[str, ...]:
    if not client_ids:
        return ()
    return (
        f"The process ids of {', '.join(dict.fromkeys(client_ids))} are unknown and were generated; Kafka may break "
        "ties by process id differently.",
    )


def _by_member_id(threads: Iterable[ObservedThread]) -> tuple[ObservedThread, ...]:
    return tuple(sorted(threads, key=lambda thread: thread.member_id))


def _by_process_id(processes: Iterable[ObservedProcess]) -> tuple[ObservedProcess, ...]:
    return tuple(sorted(processes, key=lambda process: ProcessId.parse(process.process_id)))


def _logged_process(
    client: LoggedClient, rebalance: LoggedRebalance, application_id: str, threads: int | None
) -> ObservedProcess:
    logged_threads = rebalance.by_thread.get(client.process_id)
    if logged_threads is not None:
        observed_threads = tuple(
            ObservedThread(thread.consumer, sort_tasks(thread.active), sort_tasks(thread.standby))
            for thread in logged_threads
        )
        client_id = process_client_id(observed_threads[0].member_id)
    else:
        observed_threads = _distribute(client, client.threads or threads or 1)
        client_id = f"{application_id}-{client.process_id}"
    return ObservedProcess(client.process_id, client_id, None, {}, observed_threads)


def _distribute(client: LoggedClient, threads: int) -> tuple[ObservedThread, ...]:
    """Return threads with the client's tasks, assigned round-robin: active tasks first, then standbys."""
    active, standby = sort_tasks(client.active), sort_tasks(client.standby)
    offset = -len(active) % threads
    return tuple(
        ObservedThread(f"{client.process_id}-{i:04}", active[i::threads], standby[(i + offset) % threads :: threads])
        for i in range(threads)
    )
