"""Resolve the hosts of clients, and their tasks when the simulation starts with a running application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from assignors.model.ids import PartitionTask, TaskId
from scenarios.language.application_entries import ClientEntry, HostEntry
from scenarios.language.consumer_entries import ConsumerGroupSection
from scenarios.language.errors import did_you_mean, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.validation import SourceMap
from scenarios.references import ResolvedClients
from scenarios.resolution.application import APPLICATION
from scenarios.sampling.blueprint import MAX_CLIENTS, ClientBlueprint, TopicBlueprint
from scenarios.schema import ScenarioDocument
from simulator.plurals import counted
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import ClientHost, HeldTasks, Start, Subtopology

_HOSTS: ScenarioPath = ("hosts",)


def resolve_hosts(
    entries: Sequence[HostEntry], client_entries: Sequence[ClientEntry], clients: ResolvedClients, source_map: SourceMap
) -> tuple[ClientHost, ...]:
    """Return the hosts in the order of the scenario, and set the host of each client."""
    groups: dict[str, tuple[str, ...]] = {}
    hosts: list[ClientHost] = []
    for i, entry in valid_entries(entries):
        path = (*_HOSTS, i)
        if len(hosts) + (entry.count or 1) > MAX_CLIENTS:
            source_map.add_mistake(path, f"more than {MAX_CLIENTS:,} hosts: the maximum that can be simulated")
            return ()
        names = (entry.name,) if entry.count is None else tuple(f"{entry.name}-{k}" for k in range(entry.count))
        for name in dict.fromkeys([entry.name, *names]):
            if name in groups:
                source_map.add_mistake((*path, "name"), f"{format_value(name)} is also the name of another host")
        groups |= {name: (name,) for name in names} | {entry.name: names}
        hosts.extend(ClientHost(name, entry.restore) for name in names)
    are_known = not invalid_entries(entries) and source_map.is_valid(*_HOSTS)
    _place(client_entries, clients, groups if are_known else None, source_map)
    _check_racks(clients, source_map)
    return tuple(hosts)


def _place(
    entries: Sequence[ClientEntry],
    clients: ResolvedClients,
    groups: dict[str, tuple[str, ...]] | None,
    source_map: SourceMap,
) -> None:
    """Set the host of each client, round-robin over the hosts of its entry."""
    host_of: dict[str, str] = {}
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("clients", i)
        key = "host" if entry.hosts is None else "hosts"
        if entry.host is not None and entry.hosts is not None:
            source_map.add_mistake((*path, key), "conflicts with host; set host, or hosts for several clients")
            continue
        if entry.hosts is not None and entry.count is None and source_map.is_valid(*path, "count"):
            source_map.add_mistake((*path, key), "one client has one host; set host, or count for several clients")
            continue
        listed = [entry.host] if entry.host is not None else entry.hosts or []
        paths = [(*path, key)] if entry.hosts is None else [(*path, key, place) for place in range(len(listed))]
        mistakes = [_mistake(name, entry, groups) for name in listed]
        for name_path, mistake in zip(paths, mistakes, strict=False):
            if mistake is not None:
                source_map.add_mistake(name_path, mistake)
        if listed and groups is not None and not any(mistakes):
            hosts = [host for name in listed for host in groups[name]]
            host_of |= {client: hosts[k % len(hosts)] for k, client in enumerate(clients.groups.get(entry.name, ()))}
    clients.plans = tuple(replace(plan, host=host_of.get(plan.name)) for plan in clients.plans)


def _mistake(name: str, entry: ClientEntry, groups: dict[str, tuple[str, ...]] | None) -> str | None:
    """Return what is wrong with a name of a host or of several hosts, None if nothing, or if hosts are unknown."""
    if groups is None:
        return None
    if name not in groups:
        hint = did_you_mean(name, list(groups), "hosts") if groups else "define it in hosts"
        return f"unknown host {format_value(name)} ({hint})"
    if entry.count is None and len(groups[name]) > 1:
        return f"{format_value(name)} is the name of {len(groups[name])} hosts; choose one: {groups[name][0]}, …"
    return None


def _check_racks(clients: ResolvedClients, source_map: SourceMap) -> None:
    """Report hosts whose clients are in different racks."""
    rack_of: dict[str, tuple[str, str]] = {}
    for plan in clients.plans:
        if plan.host is None or plan.rack is None:
            continue
        rack, client = rack_of.setdefault(plan.host, (plan.rack, plan.name))
        if rack != plan.rack:
            message = f"'{plan.name}' on host {format_value(plan.host)} is in rack {format_value(plan.rack)}"
            path = clients.origins[plan.name]
            source_map.add_mistake(path, f"{message}, but '{client}' on that host in {format_value(rack)}")
            return


_Located = tuple[TaskId, ScenarioPath]
"""A task with its path in the scenario."""


@dataclass(frozen=True, slots=True)
class KnownTasks:
    """The tasks of an application.

    `stateful`: whether each task is stateful. `records`: the number of records in the changelogs of each task.
    """

    stateful: Mapping[TaskId, bool]
    records: Mapping[TaskId, int]

    @classmethod
    def of(
        cls, subtopologies: Sequence[Subtopology], topics: Mapping[str, TopicBlueprint], *, are_partitions: bool
    ) -> KnownTasks:
        """Return the tasks of valid subtopologies; `are_partitions` for the partitions of a consumer group."""
        stateful: dict[TaskId, bool] = {}
        records: dict[TaskId, int] = {}
        for subtopology in subtopologies:
            changelogs = [topics[store.changelog] for store in subtopology.stores if store.changelog is not None]
            for partition in range(max(topics[name].num_partitions for name in subtopology.source_topics)):
                task = TaskId(subtopology.id, partition)
                if are_partitions:
                    task = PartitionTask(subtopology.id, partition, subtopology.source_topics[0])
                stateful[task] = subtopology.is_stateful
                records[task] = sum(
                    changelog.size_bytes[partition] // changelog.record_bytes for changelog in changelogs
                )
        return cls(stateful, records)

    def hint(self, task: TaskId) -> str:
        """Return which tasks exist, as a hint for a task that does not."""
        own = [known for known in self.stateful if known.subtopology == task.subtopology]
        if own:
            owner = task.topic if isinstance(task, PartitionTask) else f"subtopology {task.subtopology}"
            return f"{owner} has {own[0]} to {own[-1]}"
        return format_list("subtopologies", sorted({known.subtopology for known in self.stateful}))


def check_start(document: ScenarioDocument, protocols: Iterable[GroupProtocol], source_map: SourceMap) -> None:
    """Report tasks of an application that does not start running, and missing tasks of one that does."""
    section = document.application
    group = isinstance(section, ConsumerGroupSection)
    subject, tasks = ("group", "partitions") if group else ("application", "tasks")
    is_running = Start(section.starts) is Start.RUNNING
    starts, next_rebalance = (*APPLICATION, "starts"), (*APPLICATION, "next_rebalance")
    if section.next_rebalance is not None and source_map.is_valid(*starts):
        if not is_running:
            source_map.add_mistake(next_rebalance, f"applies only if the {subject} starts: running")
        elif GroupProtocol.CLASSIC not in protocols:
            source_map.add_mistake(next_rebalance, "the streams protocol has no probing rebalances")
    running = [(i, entry) for i, entry in valid_entries(document.clients) if entry.tasks is not None]
    if is_running and not running and source_map.is_valid("clients"):
        source_map.add_mistake(starts, f"running, but no client has {tasks}; set clients[].{tasks}")
    if not is_running and source_map.is_valid(*starts):
        for i, _ in running:
            source_map.add_mistake(("clients", i, "tasks"), f"applies only if the {subject} starts: running")


def resolve_tasks(
    entries: Sequence[ClientEntry],
    clients: ResolvedClients,
    known: KnownTasks | None,
    source_map: SourceMap,
    *,
    has_consumers: bool,
) -> list[str]:
    """Set the initial tasks of the clients; return notes on assumptions and on unassigned tasks.

    `known`: the tasks of the application; None if unknown. `has_consumers` says whether they are partitions of a group.
    """
    assignment = _InitialAssignment(known, source_map, has_consumers)
    tasks_by_client: dict[str, HeldTasks] = {}
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("clients", i, "tasks")
        if entry.tasks is None or not _may_have_tasks(entry, path, source_map, has_consumers=has_consumers):
            continue
        plan = next((plan for plan in clients.plans if plan.name in clients.groups.get(entry.name, ())), None)
        if plan is not None:
            tasks_by_client[plan.name] = assignment.resolve(entry, plan, path)
    clients.plans = tuple(replace(plan, tasks=tasks_by_client.get(plan.name, plan.tasks)) for plan in clients.plans)
    return [*assignment.notes, *assignment.unassigned_notes()] if tasks_by_client else []


def _may_have_tasks(entry: ClientEntry, path: ScenarioPath, source_map: SourceMap, *, has_consumers: bool) -> bool:
    what = "partitions" if has_consumers else "tasks"
    if not entry.starts:
        source_map.add_mistake(path, "the client is absent at the start (starts: false)")
    elif (entry.count or 1) > 1:
        source_map.add_mistake(path, f"several clients cannot have the same {what}; define one entry per client")
    else:
        return True
    return False


@dataclass(slots=True)
class _InitialAssignment:
    """Assigns the initial tasks of a scenario to clients.

    `known`: the tasks of the application; None if unknown. `notes`: assumptions about lags.
    """

    known: KnownTasks | None
    source_map: SourceMap
    has_consumers: bool = False
    notes: list[str] = field(default_factory=list)
    _runs_on: dict[TaskId, str] = field(default_factory=dict)

    def resolve(self, entry: ClientEntry, plan: ClientBlueprint, path: ScenarioPath) -> HeldTasks:
        """Return the tasks of a client, without invalid ones."""
        running = entry.tasks
        if running is None:
            return HeldTasks()
        loads = [0] * plan.threads
        active = self._by_thread(running.active, (*path, "active"), loads)
        standby = self._by_thread(running.standby, (*path, "standby"), loads)
        own: set[TaskId] = set()
        for task, at in chain(*active):
            self._add_active(task, at, plan.name)
            own.add(task)
        for task, at in chain(*standby):
            self._add_standby(task, at, plan.name, own)
            own.add(task)
        for task, lag in running.lags.items():
            self._check_lag(task, lag, (*path, "lags", str(task)))
        for task, lag in running.lags_when_opened.items():
            at = (*path, "lags_when_opened", str(task))
            self._check_lag(task, lag, at)
            if task not in own and not self.source_map.has_mistakes:
                self.source_map.add_mistake(at, f"{task} is neither an active nor a standby task of the client")
            elif lag < (now := running.lags.get(task, 0)):
                self.source_map.add_mistake(at, f"{lag:,} records, but {now:,} are still missing (lags)")
        return HeldTasks(_tasks(active), _tasks(standby), dict(running.lags), dict(running.lags_when_opened))

    def unassigned_notes(self) -> Iterator[str]:
        """Yield a note on tasks without an active owner."""
        if self.known is not None:
            left = [task for task in self.known.stateful if task not in self._runs_on]
            if left:
                tasks = (
                    "partitions without an owner" if isinstance(left[0], PartitionTask) else "active tasks unassigned"
                )
                yield format_list(f"{tasks} until the first rebalance", left)

    def _by_thread(
        self, entries: Sequence[TaskId | list[TaskId]], path: ScenarioPath, loads: list[int]
    ) -> list[list[_Located]]:
        """Return the tasks per thread; tasks of a flat list go to the thread with the fewest tasks so far."""
        threads: list[list[_Located]] = [[] for _ in loads]
        if len(entries) > len(loads) and isinstance(entries[0], list):
            noun = "consumer" if self.has_consumers else "thread"
            num_threads = counted(len(loads), noun)
            self.source_map.add_mistake(path, f"{len(entries)} lists, but the client has {num_threads}")
            return threads
        for i, entry in enumerate(entries):
            if isinstance(entry, list):
                threads[i] = [(task, (*path, i, j)) for j, task in enumerate(entry)]
                loads[i] += len(entry)
            else:
                thread = loads.index(min(loads))
                threads[thread].append((entry, (*path, i)))
                loads[thread] += 1
        return threads

    def _is_unknown(self, task: TaskId, at: ScenarioPath) -> bool:
        if self.known is None or task in self.known.stateful:
            return False
        kind = "an existing partition" if isinstance(task, PartitionTask) else "a task of the application"
        self.source_map.add_mistake(at, f"{task} is not {kind} ({self.known.hint(task)})")
        return True

    def _add_active(self, task: TaskId, at: ScenarioPath, client: str) -> None:
        if task in self._runs_on:
            verb = "belongs to" if isinstance(task, PartitionTask) else "runs on"
            self.source_map.add_mistake(at, f"{task} already {verb} '{self._runs_on[task]}'")
        elif not self._is_unknown(task, at):
            self._runs_on[task] = client

    def _add_standby(self, task: TaskId, at: ScenarioPath, client: str, own: set[TaskId]) -> None:
        if task in own:
            self.source_map.add_mistake(at, f"'{client}' already has {task}")
        elif not self._is_unknown(task, at) and self.known is not None and not self.known.stateful[task]:
            self.source_map.add_mistake(at, f"{task} is stateless and has no standbys")

    def _check_lag(self, task: TaskId, lag: int, at: ScenarioPath) -> None:
        if self.known is None or self._is_unknown(task, at):
            return
        num_records = self.known.records[task]
        if not self.known.stateful[task]:
            self.source_map.add_mistake(at, f"{task} is stateless and has no lag")
        elif lag > num_records:
            entry = f"{format_path(at)}: {lag:,} records"
            self.notes.append(
                f"{entry}, but the changelogs of {task} hold {num_records:,}; assumed to be an empty copy"
            )


def _tasks(threads: Sequence[Sequence[_Located]]) -> tuple[tuple[TaskId, ...], ...]:
    return tuple(tuple(task for task, _ in tasks) for tasks in threads)
