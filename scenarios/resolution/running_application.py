"""What the clients of an application have that is running already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from assignors.model.ids import TaskId
from scenarios.language.application_entries import ClientEntry
from scenarios.language.errors import format_list
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.schema import ScenarioDocument
from scenarios.language.validation import SourceMap
from scenarios.resolution.clients import ResolvedClients
from scenarios.resolution.subtopology_drafts import APPLICATION
from scenarios.sampling.blueprint import ClientBlueprint, TopicBlueprint
from simulator.world.world import GroupProtocol, HeldTasks, Start, Subtopology

_Located = tuple[TaskId, ScenarioPath]
"""A task, and where the scenario names it."""


@dataclass(frozen=True, slots=True)
class KnownTasks:
    """The tasks of an application.

    Attributes:
        stateful: whether each has state.
        records: how many its changelogs hold.
    """

    stateful: Mapping[TaskId, bool]
    records: Mapping[TaskId, int]

    @classmethod
    def of(cls, subtopologies: Sequence[Subtopology], topics: Mapping[str, TopicBlueprint]) -> KnownTasks:
        """Those of subtopologies in which nothing is wrong."""
        stateful: dict[TaskId, bool] = {}
        records: dict[TaskId, int] = {}
        for part in subtopologies:
            logs = [topics[store.changelog] for store in part.stores if store.changelog is not None]
            for partition in range(max(topics[name].num_partitions for name in part.source_topics)):
                task = TaskId(part.id, partition)
                stateful[task] = part.is_stateful
                records[task] = sum(log.size_bytes[partition] // log.record_bytes for log in logs)
        return cls(stateful, records)

    def hint(self, task: TaskId) -> str:
        """Which tasks there are instead of one that is not there."""
        own = [known for known in self.stateful if known.subtopology == task.subtopology]
        if own:
            return f"subtopology {task.subtopology} has {own[0]} to {own[-1]}"
        return format_list("subtopologies", sorted({known.subtopology for known in self.stateful}))


def check_start(document: ScenarioDocument, protocols: Iterable[GroupProtocol], source_map: SourceMap) -> None:
    """Note a mistake where something is said that only an application has that is running already, or too little.

    Args:
        protocols: those that the group may have.
    """
    section = document.application
    is_running = Start(section.starts) is Start.RUNNING
    starts, due = (*APPLICATION, "starts"), (*APPLICATION, "next_rebalance")
    if section.next_rebalance is not None and source_map.is_valid(*starts):
        if not is_running:
            source_map.add_mistake(due, "no rebalance has been asked for yet unless the application starts: running")
        elif GroupProtocol.CLASSIC not in protocols:
            source_map.add_mistake(due, "nobody asks for a rebalance in a group of the streams protocol")
    running = [(i, entry) for i, entry in valid_entries(document.clients) if entry.tasks is not None]
    if is_running and not running and source_map.is_valid("clients"):
        source_map.add_mistake(starts, "running, but no client has tasks; say in clients[].tasks what each has")
    if not is_running and source_map.is_valid(*starts):
        for i, _ in running:
            source_map.add_mistake(
                ("clients", i, "tasks"), "it has tasks at the start only if the application starts: running"
            )


def resolve_tasks(
    entries: Sequence[ClientEntry], clients: ResolvedClients, known: KnownTasks | None, source_map: SourceMap
) -> list[str]:
    """Give the clients what they have at the start; what is wrong goes to `places`.

    Args:
        entries: what the scenario says of the clients.
        clients: who gets it.
        known: the tasks; None if not known.

    Returns:
        What is to be known of it.
    """
    handing = _Handing(known, source_map)
    had: dict[str, HeldTasks] = {}
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("clients", i, "tasks")
        if entry.tasks is None or not _may_have_tasks(entry, path, source_map):
            continue
        plan = next((plan for plan in clients.plans if plan.name in clients.groups.get(entry.name, ())), None)
        if plan is not None:
            had[plan.name] = handing.take(entry, plan, path)
    clients.plans = tuple(replace(plan, tasks=had.get(plan.name, plan.tasks)) for plan in clients.plans)
    return [*handing.notes, *handing.left()] if had else []


def _may_have_tasks(entry: ClientEntry, path: ScenarioPath, source_map: SourceMap) -> bool:
    if not entry.starts:
        source_map.add_mistake(path, "it is not there at the start (starts: false)")
    elif (entry.count or 1) > 1:
        source_map.add_mistake(path, "several clients cannot have the same tasks; give each an entry of its own")
    else:
        return True
    return False


@dataclass(slots=True)
class _Handing:
    """Hands out tasks as the scenario says.

    Attributes:
        notes: what is to be known of it.
    """

    known: KnownTasks | None
    source_map: SourceMap
    notes: list[str] = field(default_factory=list)
    _runs_on: dict[TaskId, str] = field(default_factory=dict)

    def take(self, entry: ClientEntry, plan: ClientBlueprint, path: ScenarioPath) -> HeldTasks:
        """What a client has, as far as nothing is wrong with it."""
        running = entry.tasks
        if running is None:
            return HeldTasks()
        loads = [0] * plan.threads
        active = self._by_thread(running.active, (*path, "active"), loads)
        standby = self._by_thread(running.standby, (*path, "standby"), loads)
        own: set[TaskId] = set()
        for task, at in chain(*active):
            self._run(task, at, plan.name)
            own.add(task)
        for task, at in chain(*standby):
            self._stand_by(task, at, plan.name, own)
            own.add(task)
        for task, lag in running.lags.items():
            self._lag(task, lag, (*path, "lags", str(task)))
        return HeldTasks(_tasks(active), _tasks(standby), dict(running.lags))

    def left(self) -> Iterator[str]:
        """What nobody runs."""
        if self.known is not None:
            left = [task for task in self.known.stateful if task not in self._runs_on]
            if left:
                yield format_list("tasks that nobody runs at the start, until a rebalance gives them to somebody", left)

    def _by_thread(
        self, running: Sequence[TaskId | list[TaskId]], path: ScenarioPath, loads: list[int]
    ) -> list[list[_Located]]:
        """The tasks of each thread; one list is dealt out, each task to a thread that has least by now."""
        threads: list[list[_Located]] = [[] for _ in loads]
        if len(running) > len(loads) and isinstance(running[0], list):
            count = f"{len(loads)} thread{'' if len(loads) == 1 else 's'}"
            self.source_map.add_mistake(path, f"{len(running)} lists, but it has {count}")
            return threads
        for i, entry in enumerate(running):
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
        self.source_map.add_mistake(at, f"{task} is not a task of the application ({self.known.hint(task)})")
        return True

    def _run(self, task: TaskId, at: ScenarioPath, client: str) -> None:
        if task in self._runs_on:
            self.source_map.add_mistake(at, f"{task} runs on '{self._runs_on[task]}' already")
        elif not self._is_unknown(task, at):
            self._runs_on[task] = client

    def _stand_by(self, task: TaskId, at: ScenarioPath, client: str, own: set[TaskId]) -> None:
        if task in own:
            self.source_map.add_mistake(at, f"'{client}' has {task} already")
        elif not self._is_unknown(task, at) and self.known is not None and not self.known.stateful[task]:
            self.source_map.add_mistake(at, f"{task} has no state to stand by with")

    def _lag(self, task: TaskId, lag: int, at: ScenarioPath) -> None:
        if self.known is None or self._is_unknown(task, at):
            return
        whole = self.known.records[task]
        if not self.known.stateful[task]:
            self.source_map.add_mistake(at, f"{task} has no state that could lag behind")
        elif lag > whole:
            what = f"{format_path(at)}: {lag:,} records"
            self.notes.append(f"{what}, but the changelogs of {task} hold {whole:,}; taken as an empty copy")


def _tasks(threads: Sequence[Sequence[_Located]]) -> tuple[tuple[TaskId, ...], ...]:
    return tuple(tuple(task for task, _ in tasks) for tasks in threads)
