"""The processes of an application, from what tools and logs tell of its members."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.model.ids import ProcessId, TaskId
from scenarios.kafka.formats.consumer_groups import GroupMember
from scenarios.kafka.formats.leader_log import LoggedClient, LoggedRebalance
from scenarios.kafka.formats.streams_groups import StreamsGroupMember
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedProcess, ObservedSubtopology, ObservedThread

_THREAD: Final = re.compile(r"-StreamThread-\d+(-consumer.*)?$")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """The processes, by process id, what was assumed of them, and a streams group's member ids as they were listed."""

    processes: tuple[ObservedProcess, ...]
    assumptions: tuple[str, ...]
    listed_members: tuple[str, ...] = ()


def from_consumer_group(
    members: Sequence[GroupMember], subtopologies: Sequence[ObservedSubtopology], file: str
) -> ObservedGroup:
    """The processes of members whose tasks follow from the partitions that they have.

    Raises:
        ObservationError: a member has a partition that no subtopology reads.
    """
    owner = {topic: part.id for part in subtopologies for topic in part.sources}
    threads: dict[tuple[str, str], list[ObservedThread]] = {}
    static: set[tuple[str, str]] = set()
    for member in members:
        key = client_id_of(member.client_id), member.host
        threads.setdefault(key, []).append(ObservedThread(member.consumer_id, _tasks(member, owner, file), ()))
        if member.instance_id is not None:
            static.add(key)
    made_up: list[str] = []
    processes = [
        ObservedProcess(
            _process_id(client_id, f"{client_id} {host}", made_up),
            client_id,
            None,
            {},
            tuple(sorted(own, key=lambda thread: thread.member_id)),
            is_static=(client_id, host) in static,
        )
        for (client_id, host), own in threads.items()
    ]
    return ObservedGroup(_by_process_id(processes), _made_up(made_up))


def from_streams_group(members: Sequence[StreamsGroupMember]) -> ObservedGroup:
    """The processes of members that were printed with their tasks; warm-ups count as standbys."""
    threads: dict[str, list[ObservedThread]] = {}
    client_ids: dict[str, str] = {}
    for member in members:
        standby = sorted_tasks([*member.tasks.standby, *member.tasks.warmup])
        thread = ObservedThread(member.member_id, sorted_tasks(member.tasks.active), standby)
        threads.setdefault(member.process_id, []).append(thread)
        client_ids.setdefault(member.process_id, client_id_of(member.client_id))
    made_up: list[str] = []
    processes = [
        ObservedProcess(
            _process_id(name, name, made_up),
            client_ids[name],
            None,
            {},
            tuple(sorted(own, key=lambda thread: thread.member_id)),
        )
        for name, own in threads.items()
    ]
    moving = sorted(client_ids[each.process_id] for each in members if each.target not in (None, each.tasks))
    assumptions = _made_up(made_up)
    if moving:
        told = f"Members were on their way to their target: {', '.join(dict.fromkeys(moving))}; what they had is taken."
        assumptions = (*assumptions, told)
    return ObservedGroup(_by_process_id(processes), assumptions, tuple(member.member_id for member in members))


def from_leader(logged: LoggedRebalance, application_id: str, threads: int | None) -> ObservedGroup:
    """The processes of one round of the log.

    Args:
        threads: how many each process has of which the log does not tell it; None if not known either.
    """
    dealt_out = [client for client in logged.clients if client.process_id not in logged.by_thread]
    processes = [_of_log(client, logged, application_id, threads) for client in logged.clients]
    told = "The log does not tell which thread has which task; tasks are dealt out over the threads of each process."
    return ObservedGroup(_by_process_id(processes), (told,) if dealt_out else ())


def client_id_of(text: str) -> str:
    """What the client ids of a process's threads have in common."""
    return _THREAD.sub("", text)


def sorted_tasks(tasks: Iterable[str]) -> tuple[str, ...]:
    """Tasks in Kafka's order, each once.

    Raises:
        ObservationError: one is of a named topology.
    """
    try:
        return tuple(str(task) for task in sorted(set(map(TaskId.parse, tasks))))
    except ValueError as error:
        raise ObservationError(f"{error}; tasks of named topologies cannot be simulated") from None


def least_standbys(processes: Sequence[ObservedProcess], stateful: Iterable[int]) -> int:
    """How many standbys every stateful task that runs has at least; warm-ups only come on top."""
    wanted = set(stateful)
    active = {task for each in processes for thread in each.threads for task in thread.active}
    standbys = [task for each in processes for thread in each.threads for task in thread.standby]
    return min((standbys.count(task) for task in active if TaskId.parse(task).subtopology in wanted), default=0)


def _tasks(member: GroupMember, owner: Mapping[str, int], file: str) -> tuple[str, ...]:
    strangers = [partition.topic for partition in member.partitions if partition.topic not in owner]
    if strangers:
        raise ObservationError(
            f"{file}:{member.line}: {member.client_id} reads '{strangers[0]}', which no subtopology of the topology "
            "reads; is it the topology of this application?"
        )
    return sorted_tasks(f"{owner[partition.topic]}_{partition.partition}" for partition in member.partitions)


def _process_id(client_id: str, otherwise: str, made_up: list[str]) -> str:
    """The UUID that a client id ends in, as it does by default; else one that is always the same for it."""
    match = _UUID.search(client_id)
    if match is not None:
        return str(uuid.UUID(match[0]))
    made_up.append(client_id)
    return str(uuid.uuid5(uuid.NAMESPACE_URL, otherwise))


def _made_up(clients: Sequence[str]) -> tuple[str, ...]:
    if not clients:
        return ()
    return (
        f"The process ids of {', '.join(dict.fromkeys(clients))} are not printed and so are made up; Kafka's ties by "
        "process id may go another way.",
    )


def _by_process_id(processes: Iterable[ObservedProcess]) -> tuple[ObservedProcess, ...]:
    return tuple(sorted(processes, key=lambda process: ProcessId.parse(process.process_id)))


def _of_log(client: LoggedClient, logged: LoggedRebalance, application_id: str, threads: int | None) -> ObservedProcess:
    logged_threads = logged.by_thread.get(client.process_id)
    if logged_threads is not None:
        own = tuple(
            ObservedThread(thread.consumer, sorted_tasks(thread.active), sorted_tasks(thread.standby))
            for thread in logged_threads
        )
        client_id = client_id_of(own[0].member_id)
    else:
        own = _dealt_out(client, client.threads or threads or 1)
        client_id = f"{application_id}-{client.process_id}"
    return ObservedProcess(client.process_id, client_id, None, {}, own)


def _dealt_out(client: LoggedClient, threads: int) -> tuple[ObservedThread, ...]:
    """Active tasks by turns, and standbys from where those ended, as evenly as it goes."""
    active, standby = sorted_tasks(client.active), sorted_tasks(client.standby)
    first = -len(active) % threads
    return tuple(
        ObservedThread(f"{client.process_id}-{i:04}", active[i::threads], standby[(i + first) % threads :: threads])
        for i in range(threads)
    )
