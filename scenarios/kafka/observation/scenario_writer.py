"""What was seen of a running application, as a scenario that starts from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import TaskId
from scenarios.kafka.observation.client_names import client_names
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.history import RebalanceHistory
from scenarios.kafka.observation.observation import Observation, ObservedProcess, ObservedSubtopology, ObservedTopic
from scenarios.kafka.observation.observed_configs import assignor_of, broker_configs, streams_configs
from scenarios.kafka.observation.volumes import TopicVolume, amounts_by_topic, has_hidden_records, lags_of
from scenarios.kafka.observation.yaml_text import Value, comment, entry, flow
from scenarios.language.units import format_duration

_AFTER_LAST_MS = 1_800_000
"""How long a replayed trace goes on after the last thing that was seen to happen."""


def scenario_text(observation: Observation, trace: RebalanceHistory | None = None) -> str:
    """Write a scenario.

    Args:
        observation: what was seen at the moment at which the scenario starts.
        trace: what was seen to happen after it, if that was seen.

    Raises:
        ObservationError: nobody runs the application, or something was seen that a scenario cannot say.
    """
    writer = _Writer(observation, trace, client_names([*observation.processes, *(trace.newcomers if trace else ())]))
    sections = [*writer.cluster(), "", *writer.application(), "", *writer.clients(), "", *writer.rest()]
    return "\n".join([*writer.head(), "", *sections, ""])


def list_assumptions(observation: Observation) -> tuple[str, ...]:
    """What was not seen and what was taken for it: what the observation says, and what a scenario cannot say of it."""
    return (*observation.assumptions, *_left_out(observation))


@dataclass(slots=True)
class _Writer:
    seen: Observation
    trace: RebalanceHistory | None
    names: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.seen.processes:
            raise ObservationError(
                f"no member of '{self.seen.application_id}' was seen, so there is nothing to start from; look again "
                "while the application runs"
            )

    def head(self) -> Iterator[str]:
        """Where it was seen, and what was assumed."""
        yield from comment(f"{self.seen.application_id} as it was seen: {self.seen.source}")
        if self.seen.kafka_version is not None:
            yield from comment(f"Kafka {self.seen.kafka_version}")
        assumed = list_assumptions(self.seen)
        if assumed:
            yield "#"
            yield "# What was not seen, and what was taken for it:"
        for sentence in assumed:
            yield from comment(sentence, "- ")

    def cluster(self) -> Iterator[str]:
        yield "cluster:"
        yield "  brokers:"
        for broker in self.seen.brokers:
            yield f"    - {flow({'id': broker.id} | ({} if broker.rack is None else {'rack': broker.rack}))}"
        configs, _ = broker_configs(self.seen.broker_configs)
        yield from _mapping("configs", configs, 2)
        yield "  topics:   # bytes, and bytes per second: of each partition in a list, or else of the whole topic"
        amounts = amounts_by_topic(self.seen)
        for topic in self.seen.topics:
            yield from self._topic(topic, amounts[topic.name])

    def application(self) -> Iterator[str]:
        seen = self.seen
        yield "application:"
        yield from entry("id", seen.application_id, 2)
        yield "  starts: running"
        if seen.next_rebalance_ms is not None and seen.protocol == "classic":
            yield f"  next_rebalance: {format_duration(max(0, seen.next_rebalance_ms))}"
        configs, _ = streams_configs(seen)
        yield from _mapping("configs", configs, 2)
        yield "  subtopologies:"
        written: set[str] = set()
        for part in seen.subtopologies:
            yield from self._subtopology(part, written)

    def clients(self) -> Iterator[str]:
        yield "clients:"
        for process in self.seen.processes:
            yield from self._client(process, starts=True)
        for process in self.trace.newcomers if self.trace else ():
            yield from self._client(process, starts=False)

    def rest(self) -> Iterator[str]:
        """What happens, and the assignor."""
        if self.trace is None:
            first = flow(self.names[self.seen.processes[0].process_id])
            yield "# What happens is for you to say, for instance:"
            yield "# events:"
            yield f"#   - {{at: 1m, leave: {{clients: {first}}}}}"
        elif self.trace.changes:
            yield "events:"
            for change in self.trace.changes:
                said: dict[str, Value] = {"clients": [self.names[process] for process in change.process_ids]}
                if change.leaves_group:
                    said["leaves_group"] = True
                yield f"  - {flow({'at': format_duration(change.at_ms), change.kind: said})}"
        yield ""
        yield from self._assignors()
        if self.trace is not None:
            last_ms = max(one.at_ms for one in self.trace.rounds)
            yield f"duration: {format_duration(last_ms + _AFTER_LAST_MS)}"

    def _assignors(self) -> Iterator[str]:
        name, _ = assignor_of(self.seen)
        if self.seen.protocol != "streams":
            yield f"assignors: [{name}]"
            return
        yield "assignors:"
        yield f"  - assignor: {name}"
        yield f"    label: {name}"
        yield "    parameters:   # Kafka's coordinator breaks ties by the ids of members, and by how it lists them"
        yield from _mapping("members", self.seen.process_of_member(), 6)

    def _topic(self, topic: ObservedTopic, amounts: TopicVolume) -> Iterator[str]:
        yield f"    - name: {flow(topic.name)}"
        yield from entry("replicas", topic.replicas, 6)
        if any(leader != replicas[0] for leader, replicas in zip(topic.leaders, topic.replicas, strict=True)):
            yield from entry("leaders", topic.leaders, 6)
        for key, each in (("bytes_per_s", amounts.bytes_per_s), ("size", amounts.size_bytes)):
            if each is not None:
                yield from entry(key, _amount(each), 6)
        if amounts.record_bytes is not None:
            yield f"      record_size: {amounts.record_bytes}"

    def _subtopology(self, part: ObservedSubtopology, written: set[str]) -> Iterator[str]:
        """A subtopology; all that is written to a topic comes from the first that writes it."""
        known = {topic.name for topic in self.seen.topics}
        read = {name for each in self.seen.subtopologies for name in each.sources}
        writes = [name for name in part.writes if name in known and name not in written]
        written.update(writes)
        short = {name: self._short_name(name) for name in writes if name in read}
        yield f"    - id: {part.id}"
        yield from entry("sources", part.sources, 6)
        repartition = [{"name": name} for name in short.values() if name is not None]
        if repartition:
            yield from entry("repartition", repartition, 6)
        results = [name for name in writes if short.get(name) is None]
        if results:
            yield from entry("writes", results, 6)
        stores: list[Value] = [self._store(name, topic) for name, topic in part.changelogs.items()]
        stores += [{"name": name, "logged": False} for name in part.unlogged_stores]
        if stores:
            yield from entry("stores", stores, 6)

    def _store(self, name: str, topic: str) -> Value:
        usual = f"{self.seen.application_id}-{name}-changelog"
        return {"name": name} if topic == usual else {"name": name, "changelog": topic}

    def _short_name(self, topic: str) -> str | None:
        """What a scenario calls a repartition topic; None of a topic that is named otherwise."""
        prefix, suffix = f"{self.seen.application_id}-", "-repartition"
        is_named_so = topic.startswith(prefix) and topic.endswith(suffix) and len(topic) > len(prefix + suffix)
        return topic[len(prefix) : -len(suffix)] if is_named_so else None

    def _client(self, process: ObservedProcess, starts: bool) -> Iterator[str]:
        name = self.names[process.process_id]
        yield f"  - name: {flow(name)}"
        yield from entry("process_id", process.process_id, 4)
        rack = self._rack(process)
        if rack is not None:
            yield from entry("rack", rack, 4)
        yield f"    threads: {max(1, len(process.threads))}"
        if process.tags:
            yield from entry("tags", dict(sorted(process.tags.items())), 4)
        if process.is_static:
            yield "    static_membership: true"
        if not starts:
            yield "    starts: false"
            return
        tasks = list(self._tasks(process))
        yield from ["    tasks:", *tasks] if tasks else ["    tasks: {}"]

    def _tasks(self, process: ObservedProcess) -> Iterator[str]:
        for role in ("active", "standby"):
            threads = [_sorted_tasks(getattr(thread, role)) for thread in process.threads]
            if any(threads):
                yield from entry(role, threads[0] if len(threads) == 1 else threads, 6)
        lags = lags_of(process, self.seen)
        if lags:
            yield from entry("lags", {task: lags[task] for task in _sorted_tasks(lags)}, 6)

    def _rack(self, process: ObservedProcess) -> str | None:
        return process.rack if _racks(self.seen) else None


def _left_out(seen: Observation) -> Iterator[str]:
    """What the form of a scenario leaves out or fills in."""
    for _, remarks in (streams_configs(seen), broker_configs(seen.broker_configs), assignor_of(seen)):
        yield from remarks
    if any(part.changelogs for part in seen.subtopologies):
        yield "Stores are taken to be persistent, which nothing tells."
    hidden = [topic.name for topic in seen.topics if has_hidden_records(topic, seen)]
    if hidden:
        yield (
            f"How many records of {', '.join(hidden)} take room is not to be seen, as those that were read are deleted "
            "bit by bit: a record is taken to be as large as those that it is made of."
        )
    if any(lags_of(process, seen) for process in seen.processes):
        yield (
            "Lags count from the offsets that members told when they joined last; what ran as an active task then, or "
            "does now, is taken to be level."
        )
    if any(process.rack is not None for process in seen.processes) and not _racks(seen):
        yield "client.rack of clients is left out: no broker has a rack."


def _racks(seen: Observation) -> list[str]:
    return sorted({broker.rack for broker in seen.brokers if broker.rack is not None})


def _sorted_tasks(tasks: Iterable[str]) -> list[str]:
    try:
        return [str(task) for task in sorted(map(TaskId.parse, tasks))]
    except ValueError as error:
        named = f"{error}; tasks of named topologies cannot be simulated"
        raise ObservationError(named) from None


def _amount(each: Sequence[int]) -> Value:
    """One amount for the whole topic where all partitions have the same, else one a partition."""
    return sum(each) if len(set(each)) == 1 else each


def _mapping(key: str, content: Mapping[str, Value], indent: int) -> Iterator[str]:
    """A mapping with a line an entry; nothing if it is empty."""
    if content:
        yield f"{' ' * indent}{key}:"
    for item in content.items():
        yield from entry(*item, indent + 2)
