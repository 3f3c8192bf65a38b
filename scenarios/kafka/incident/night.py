"""A recorded night as an observation and its history, from which a scenario is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.files import Dumps, logged_release, observed_brokers
from scenarios.kafka.dumps.groups import min_standbys
from scenarios.kafka.incident.causes import ChangeKind, RecordedChange, client_changes
from scenarios.kafka.incident.folder import listed_release
from scenarios.kafka.incident.recomputation import KnownCluster, all_tasks
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedRebalance
from scenarios.kafka.observation.described_subtopologies import describe_subtopologies
from scenarios.kafka.observation.observation import (
    MembershipChange,
    Observation,
    ObservationError,
    ObservedProcess,
    ObservedRebalance,
    ObservedSubtopology,
    ObservedThread,
    ObservedTopic,
    RebalanceHistory,
    StatedRacks,
    check_stated_racks,
    sort_tasks,
    with_stated_racks,
)
from scenarios.kafka.observation.releases import with_logged_release
from scenarios.language.units import parse_duration_ms

STANDBYS: Final = "num.standby.replicas"
_SESSION: Final = {
    "classic": "session.timeout.ms",
    "streams": "group.streams.session.timeout.ms",
    "consumer": "group.consumer.session.timeout.ms",
}
_DEFAULT_SESSION_MS: Final = 45_000
_START_SPREAD_MS: Final = 30_000
"""Threads of a process that join within this time have started together."""
_MIN_GAP_MS: Final = 1


@dataclass(frozen=True, slots=True)
class NightOptions:
    """Information that the files lack.

    Attributes:
        configs: Configs of the application, or of the brokers of a streams group; they override those of a properties
            file.
        racks: Racks of clients that report none.
        release: Kafka release of the clients, and of the brokers of a streams group; None for the newest.
    """

    configs: Mapping[str, str] = field(default_factory=dict)
    racks: StatedRacks = ()
    release: str | None = None


@dataclass(frozen=True, slots=True)
class ObservedNight:
    """The night.

    Attributes:
        observation: State at the first recorded rebalance.
        history: What followed.
        cluster: What is known of the cluster besides the records.
        has_sizes: Whether sizes of topics are known.
    """

    observation: Observation
    history: RebalanceHistory
    cluster: KnownCluster
    has_sizes: bool


def observe_night(group: RecordedGroup, dumps: Dumps, options: NightOptions) -> ObservedNight:
    """Return a recorded night as an observation and its history.

    `dumps`: output of tools that describe the cluster; what is missing is assumed. `options`: information that the
    files lack. Raises ObservationError if no rebalance has members, the output of tools contradicts the records, or no
    client has the name of a stated rack.
    """
    rebalances = [rebalance for rebalance in group.rebalances if rebalance.members]
    if not rebalances:
        raise ObservationError(f"group '{group.group}' has no recorded rebalance with members")
    assumptions = list(dumps.remarks)
    configs = {**(dumps.properties.content if dumps.properties else {}), **rebalances[0].configs, **options.configs}
    subtopologies = _subtopologies(group, dumps, assumptions)
    topics = _topics(group, dumps, subtopologies, assumptions)
    processes = _all_processes(rebalances)
    located, sentences = with_stated_racks(list(processes.values()), options.racks)
    assumptions += sentences
    by_id = {process.process_id: process for process in located}
    initial = [by_id[process] for process in sorted(rebalances[0].by_process())]
    initial = [_with_threads(process, rebalances[0]) for process in initial]
    newcomers = tuple(process for process in located if process.process_id not in rebalances[0].by_process())
    if STANDBYS not in configs:
        numbers = (min_standbys(_processes(rebalance), group.stateful) for rebalance in rebalances)
        configs[STANDBYS] = str(max(numbers))
        assumptions.append(
            f"{STANDBYS} is assumed to be {configs[STANDBYS]}, the most that all stateful tasks had at the same time."
        )
    application, broker = _split_configs(configs)
    session_ms = session_timeout_ms(group, configs)
    if group.protocol == "classic" and "session.timeout.ms" not in application:
        application["session.timeout.ms"] = str(session_ms)
    observation = Observation(
        source="rebuilt from the records of its group",
        brokers=observed_brokers(dumps, topics),
        topics=topics,
        application_id=group.group,
        protocol=group.protocol,
        subtopologies=subtopologies,
        processes=tuple(initial),
        configs=application,
        broker_configs=broker,
        listed_members=rebalances[0].coordinator_order,
        next_rebalance_ms=_next_rebalance_ms(rebalances),
        broker_release=_broker_release(dumps, options) if group.protocol == "streams" else None,
        client_release=options.release if group.protocol == "classic" else None,
        assumptions=tuple(assumptions),
    )
    check_stated_racks(observation, options.racks, newcomers)
    history = RebalanceHistory(newcomers, tuple(_changes(rebalances, session_ms)), tuple(_observed(rebalances)))
    racks = {process.process_id: process.rack for process in located}
    if group.protocol == "classic" and options.release is None:
        observation = with_logged_release(observation, logged_release(dumps, group.group))
    return ObservedNight(
        observation,
        history,
        KnownCluster(
            racks_of_replicas(observation),
            {subtopology.id: tuple(subtopology.changelogs.values()) for subtopology in subtopologies},
            racks,
        ),
        dumps.sizes is not None,
    )


def session_timeout_ms(group: RecordedGroup, configs: Mapping[str, str]) -> int:
    """Return the session timeout: as stated, else as members reported it, else Kafka's default.

    Raises ObservationError if the stated one is not a duration.
    """
    key = _SESSION[group.protocol]
    if key in configs:
        try:
            return parse_duration_ms(int(configs[key]) if configs[key].strip().isdecimal() else configs[key])
        except ValueError as error:
            raise ObservationError(f"{key}: {error}") from None
    reported = [
        member.session_timeout_ms
        for rebalance in group.rebalances
        for member in rebalance.members
        if member.session_timeout_ms is not None
    ]
    return max(reported, default=_DEFAULT_SESSION_MS)


def _split_configs(configs: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the configs of the application and those of the brokers."""
    broker = {key: value for key, value in configs.items() if key.startswith("group.") and key != "group.protocol"}
    return {key: value for key, value in configs.items() if key not in broker}, broker


def _subtopologies(group: RecordedGroup, dumps: Dumps, assumptions: list[str]) -> tuple[ObservedSubtopology, ...]:
    """Return the subtopologies as described, or else as the records show them."""
    if dumps.topology is not None and dumps.topics is not None:
        topics = {topic.name for topic in dumps.topics.content}
        described, sentences = describe_subtopologies(dumps.topology.content, group.group, topics, dumps.topology.file)
        assumptions += sentences
        recorded = {task.subtopology for task in all_tasks(group)}
        if not recorded <= {subtopology.id for subtopology in described}:
            raise ObservationError(
                f"{dumps.topology.file} lacks subtopologies of the recorded tasks of '{group.group}'"
            )
        return described
    assumptions.append(
        "No output of kafka-topics.sh and Topology.describe(): one changelog per stateful subtopology, no sizes and no "
        "racks of brokers are assumed."
    )
    ids = sorted({task.subtopology for task in all_tasks(group)})
    return tuple(
        ObservedSubtopology(
            number,
            group.source_topics.get(number) or (f"source-{number}",),
            {f"state-{number}": f"{group.group}-state-{number}-changelog"} if number in group.stateful else {},
        )
        for number in ids
    )


def _topics(
    group: RecordedGroup, dumps: Dumps, subtopologies: Sequence[ObservedSubtopology], assumptions: list[str]
) -> tuple[ObservedTopic, ...]:
    if dumps.topics is not None and dumps.topology is not None:
        sizes = dumps.sizes.content if dumps.sizes else {}
        if dumps.sizes is None:
            assumptions.append("No output of kafka-log-dirs.sh: topics and changelogs are assumed empty.")
        used = {name for subtopology in subtopologies for name in subtopology.topics}
        return tuple(
            ObservedTopic(
                topic.name,
                topic.replicas,
                topic.leaders,
                tuple(sizes.get(TopicPartition(topic.name, number), 0) for number in range(len(topic.replicas)))
                if dumps.sizes
                else None,
            )
            for topic in sorted(dumps.topics.content, key=lambda topic: topic.name)
            if topic.name in used
        )
    counts: dict[int, int] = {}
    for task in all_tasks(group):
        counts[task.subtopology] = max(counts.get(task.subtopology, 0), task.partition + 1)
    partitions: dict[str, int] = {}
    for subtopology in subtopologies:
        for name in (*subtopology.sources, *subtopology.changelogs.values()):
            partitions[name] = max(partitions.get(name, 0), counts[subtopology.id])
    return tuple(ObservedTopic(name, ((1,),) * number, (1,) * number) for name, number in sorted(partitions.items()))


def _broker_release(dumps: Dumps, options: NightOptions) -> str | None:
    if options.release is not None:
        return ".".join(options.release.split(".")[:2])
    return listed_release(dumps)


def racks_of_replicas(observation: Observation) -> dict[TopicPartition, tuple[str | None, ...]]:
    """Return the rack of each replica of each partition."""
    rack_of = {broker.id: broker.rack for broker in observation.brokers}
    return {
        TopicPartition(topic.name, number): tuple(rack_of.get(broker) for broker in replicas)
        for topic in observation.topics
        for number, replicas in enumerate(topic.replicas)
    }


def _all_processes(rebalances: Sequence[RecordedRebalance]) -> dict[str, ObservedProcess]:
    """Return all processes by id, each with as many threads as it ever had at once."""
    processes: dict[str, ObservedProcess] = {}
    for rebalance in rebalances:
        for process in _processes(rebalance):
            known = processes.get(process.process_id)
            if known is None or len(known.threads) < len(process.threads):
                processes[process.process_id] = process
    return processes


def _processes(rebalance: RecordedRebalance) -> list[ObservedProcess]:
    return [
        ObservedProcess(
            process,
            members[0].client_id,
            members[0].rack,
            dict(members[0].tags),
            tuple(ObservedThread(member.id, member.active, member.standby) for member in members),
            is_static=members[0].instance_id is not None,
        )
        for process, members in rebalance.by_process().items()
    ]


def _with_threads(process: ObservedProcess, first: RecordedRebalance) -> ObservedProcess:
    """Return a process with the tasks of the first rebalance, and the threads that joined later without any."""
    [recorded] = [other for other in _processes(first) if other.process_id == process.process_id]
    late = [replace(thread, active=(), standby=()) for thread in process.threads[len(recorded.threads) :]]
    withheld = sort_tasks(task for task, owner in first.withheld.items() if owner == process.process_id)
    threads = [*recorded.threads, *late]
    if withheld:
        threads[0] = replace(threads[0], active=sort_tasks([*threads[0].active, *withheld]))
    return replace(process, threads=tuple(threads))


def _next_rebalance_ms(rebalances: Sequence[RecordedRebalance]) -> int | None:
    due = [member.next_rebalance_at_ms for member in rebalances[0].members if member.next_rebalance_at_ms is not None]
    return max(0, min(due) - rebalances[0].at_ms) if due else None


def _observed(rebalances: Sequence[RecordedRebalance]) -> Iterator[ObservedRebalance]:
    for number, rebalance in enumerate(rebalances):
        active, standby = rebalance.active(), rebalance.standby()
        yield ObservedRebalance(
            number,
            rebalance.at_ms - rebalances[0].at_ms,
            {task: active[task] for task in sort_tasks(active)},
            {task: standby[task] for task in sort_tasks(standby)},
            rebalance.stable_at_ms is not None,
        )


def _changes(rebalances: Sequence[RecordedRebalance], session_ms: int) -> Iterator[MembershipChange]:
    """Yield the changes of the clients over the night, by time.

    Members that disappear have left, or their sessions have timed out: the latter only if they had no rebalance within
    the session timeout before, in which they would have joined again. A client that restarted within its session was
    down for half of it, as long as nothing else is known.
    """
    start_ms = rebalances[0].at_ms
    events: list[MembershipChange] = []
    for change in _by_process(client_changes(rebalances), rebalances):
        at_ms = rebalances[change.position].at_ms - start_ms
        before_ms = rebalances[change.position - 1].at_ms - start_ms + _MIN_GAP_MS
        crashed_ms = max(before_ms, at_ms - session_ms)
        match change.kind:
            case ChangeKind.JOINED | ChangeKind.RETURNED:
                events.append(MembershipChange(at_ms, "join", (change.process_id,)))
            case ChangeKind.RESTARTED:
                down_ms = max(_MIN_GAP_MS, (at_ms - crashed_ms) // 2)
                events.append(MembershipChange(crashed_ms, "crash", (change.process_id,), down_ms=down_ms))
            case ChangeKind.NEW_PROCESS:
                if change.previous_process_id in {
                    member.process_id for member in rebalances[change.position - 1].members
                }:
                    events.append(MembershipChange(crashed_ms, "leave", (change.previous_process_id or "",)))
                events.append(MembershipChange(at_ms, "join", (change.process_id,)))
            case ChangeKind.LEFT:
                left = f"{change.client_id}: left"
                has_logged = any(cause.startswith(left) for cause in rebalances[change.position].stated_causes)
                leaves_group = has_logged or at_ms - session_ms < before_ms
                left_ms = at_ms if leaves_group else at_ms - session_ms
                events.append(MembershipChange(left_ms, "leave", (change.process_id,), leaves_group))
            case ChangeKind.EXPIRED:
                continue
    yield from sorted(events, key=lambda event: (event.at_ms, event.kind, event.process_ids))


def _by_process(changes: Sequence[RecordedChange], rebalances: Sequence[RecordedRebalance]) -> Iterator[RecordedChange]:
    """Yield one change for each process whose threads join or leave one after another.

    Threads that leave while others of the process stay are not a change of the process, unless the others follow.
    """
    open_changes: dict[tuple[str, ChangeKind], tuple[int, set[str]]] = {}
    for change in changes:
        key = change.process_id, change.kind
        at_ms = rebalances[change.position].at_ms
        since_ms, threads = open_changes.get(key, (at_ms, set()))
        is_continued = bool(threads) and at_ms - since_ms <= _START_SPREAD_MS and threads.isdisjoint(change.threads)
        if is_continued:
            threads.update(change.threads)
        else:
            open_changes[key] = at_ms, set(change.threads)
        before = {member.process_id for member in rebalances[change.position - 1].members}
        is_more_threads = change.kind == ChangeKind.JOINED and change.process_id in before
        if not is_continued and not is_more_threads:
            yield change
