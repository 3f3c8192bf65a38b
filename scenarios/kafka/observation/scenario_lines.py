"""The lines that imported scenarios have in common: YAML, configs, the cluster with sizes and rates, and events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.naming import is_purged_topic, repartition_name
from scenarios.kafka.observation.observation import (
    MembershipChange,
    Observation,
    ObservedConsumer,
    ObservedProcess,
    ObservedTopic,
)
from scenarios.language.client_configs import MISPLACED_CONFIGS, ConsumerConfigs, StreamsConfigs
from scenarios.language.cluster_entries import LEADER_SELECTOR, RACK_AWARE_SELECTOR, BrokerConfigs
from scenarios.language.fields import ScenarioSection, config_keys
from scenarios.language.units import format_duration
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
    UnmodeledConfig,
)

_DEFAULT_RECORD_BYTES: Final = 1_000
"""Record size that a scenario assumes by default."""


@dataclass(frozen=True, slots=True)
class TopicVolume:
    """Rates and sizes of a topic in a scenario; None if unknown.

    Attributes:
        bytes_per_s: Bytes produced per second, by partition.
        record_bytes: Mean record size.
    """

    bytes_per_s: tuple[int, ...] | None
    size_bytes: tuple[int, ...] | None
    record_bytes: int | None


def changelog_topics(observation: Observation) -> frozenset[str]:
    """Return the topics that are changelogs."""
    return frozenset(topic for subtopology in observation.subtopologies for topic in subtopology.changelogs.values())


def topic_volumes(observation: Observation) -> Mapping[str, TopicVolume]:
    """Compute rates and sizes from offsets and sizes on disk.

    The record size of a topic is its size divided by its number of offsets. The size of a changelog is its end offset
    times the record size: Kafka counts the lag of a client without a local copy as the whole end offset, whatever
    compaction and retention have removed, while the simulator counts lag by size and record size.

    Kafka Streams purges the repartition topics it has read, but the bytes remain until a segment is full. If the number
    of remaining records is therefore unknown, the record size is that of the topics the repartition topic is derived
    from, or larger if its size requires that. Returns the volume of each topic, by name.
    """
    changelogs = changelog_topics(observation)
    record_sizes = {topic.name: _mean_record_bytes(topic) for topic in observation.topics}
    volumes = {}
    for topic in observation.topics:
        record_bytes = record_sizes[topic.name]
        if has_unknown_record_count(topic, observation):
            record_bytes = _record_bytes_of_inputs(topic, observation, record_sizes)
        volumes[topic.name] = _volume(topic, record_bytes, is_changelog=topic.name in changelogs)
    return volumes


def has_unknown_record_count(topic: ObservedTopic, observation: Observation) -> bool:
    """Return whether a topic's size and end offsets are known, but not the number of records on disk."""
    has_size_only = topic.size_bytes is not None and topic.end_offsets is not None and topic.start_offsets is None
    return has_size_only and is_purged_topic(topic.name, observation.application_id)


def task_lags(process: ObservedProcess, observation: Observation) -> Mapping[str, int]:
    """Return the lag in records of the task copies of a process: standbys that lag, and all dormant copies.

    The lag of a copy is the sum of the end offsets of its changelogs minus its offset sum.
    """
    if process.offset_sums is None:
        return {}
    end_offset_sums = _end_offset_sums(observation)
    active = {task for thread in process.threads for task in thread.active}
    standby = {task for thread in process.threads for task in thread.standby}
    lags: dict[str, int] = {}
    for task in standby | set(process.offset_sums) - active:
        if task not in end_offset_sums:
            continue
        offset_sum = process.offset_sums.get(task, 0)
        lag = 0 if offset_sum < 0 else max(0, end_offset_sums[task] - offset_sum)
        if lag or task not in standby:
            lags[task] = lag
    return lags


def _volume(topic: ObservedTopic, mean_record_bytes: float | None, is_changelog: bool) -> TopicVolume:
    record_bytes = None if mean_record_bytes is None else max(1, round(mean_record_bytes))
    size_bytes = topic.size_bytes
    if is_changelog and topic.end_offsets is not None:
        size_bytes = tuple(end * (record_bytes or _DEFAULT_RECORD_BYTES) for end in topic.end_offsets)
    bytes_per_s = None
    if topic.records_per_s is not None:
        factor = (record_bytes if is_changelog else mean_record_bytes) or _DEFAULT_RECORD_BYTES
        bytes_per_s = tuple(round(records * factor) for records in topic.records_per_s)
    return TopicVolume(bytes_per_s, size_bytes, record_bytes)


def _mean_record_bytes(topic: ObservedTopic) -> float | None:
    if topic.size_bytes is None or topic.start_offsets is None or topic.end_offsets is None:
        return None
    num_offsets = sum(topic.end_offsets) - sum(topic.start_offsets)
    return sum(topic.size_bytes) / num_offsets if num_offsets > 0 and any(topic.size_bytes) else None


def _record_bytes_of_inputs(
    topic: ObservedTopic, observation: Observation, record_sizes: Mapping[str, float | None]
) -> float:
    """Return the mean record size of the topics read by a repartition topic's writers, or by all if those are unknown.

    The result is larger if the topic has more bytes than such records.
    """
    writers = [subtopology for subtopology in observation.subtopologies if topic.name in subtopology.writes]
    inputs = sorted({name for subtopology in writers or observation.subtopologies for name in subtopology.sources})
    known = [size for name in inputs if (size := record_sizes.get(name)) is not None]
    likely = sum(known) / len(known) if known else _DEFAULT_RECORD_BYTES
    return max(likely, sum(topic.size_bytes or ()) / max(1, sum(topic.end_offsets or ())))


def _end_offset_sums(observation: Observation) -> Mapping[str, int]:
    """Return the sum of the end offsets of each task's changelogs, for subtopologies with all changelogs observed."""
    topics = {topic.name: topic for topic in observation.topics}
    sums: dict[str, int] = {}
    for subtopology in observation.subtopologies:
        end_offsets = [topics[name].end_offsets for name in subtopology.changelogs.values() if name in topics]
        known = [offsets for offsets in end_offsets if offsets is not None]
        if known and len(known) == len(subtopology.changelogs):
            for partition in range(min(map(len, known))):
                sums[f"{subtopology.id}_{partition}"] = sum(offsets[partition] for offsets in known)
    return sums


YamlValue = str | int | float | bool | Sequence["YamlValue"] | Mapping[str, "YamlValue"]

WIDTH: Final = 118
"""Maximum line length."""

_PLAIN = re.compile(
    r"[A-Za-z_][\w./-]*|\d{1,9}_\d{1,9}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+[smhd](\d+[smhd])*", re.ASCII
)
_RESERVED = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)


def flow_text(value: YamlValue) -> str:
    """Return a value in flow style on one line."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            is_plain = _PLAIN.fullmatch(value) and not _RESERVED.fullmatch(value)
            return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
        case Mapping():
            return "{" + ", ".join(f"{flow_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(flow_text, value)) + "]"


def entry_lines(key: str, value: YamlValue, indent: int) -> Iterator[str]:
    """Yield the lines of `key: value`; a list or mapping that exceeds one line is wrapped between its elements."""
    margin = " " * indent
    line = f"{margin}{flow_text(key)}: {flow_text(value)}"
    if len(line) <= WIDTH or isinstance(value, str | int | float):
        yield line
        return
    if isinstance(value, Mapping):
        elements, opening, closing = [f"{flow_text(name)}: {flow_text(item)}" for name, item in value.items()], "{", "}"
    else:
        elements, opening, closing = list(map(flow_text, value)), "[", "]"
    yield f"{margin}{flow_text(key)}: {opening}"
    row = f"{margin} "
    for element in elements:
        if len(row) + len(element) + 2 > WIDTH and row.strip():
            yield row
            row = f"{margin} "
        row += f" {element},"
    yield row
    yield f"{margin}{closing}"


def comment_lines(text: str, bullet: str = "") -> Iterator[str]:
    """Yield a sentence as comment lines; characters that could end the comment are escaped."""
    row = f"# {bullet}"
    for word in text.split():
        printable = word if word.isprintable() else repr(word)[1:-1]
        if len(row) + len(printable) >= WIDTH and row.strip("# -"):
            yield row.rstrip()
            row = "#" + " " * (1 + len(bullet))
        row += f"{printable} "
    yield row.rstrip()


_SELECTOR: Final = "replica.selector.class"
_ASSIGNOR_KEYS: Final = ("task.assignor.class", "internal.task.assignor.class")
_INTERNAL_PACKAGE: Final = "org.apache.kafka.streams.processor.internals.assignment."
_PUBLIC_PACKAGE: Final = "org.apache.kafka.streams.processor.assignment.assignors."
_ASSIGNORS: Final = {
    f"{_INTERNAL_PACKAGE}HighAvailabilityTaskAssignor": "high_availability",
    f"{_INTERNAL_PACKAGE}LegacyStickyTaskAssignor": "legacy_sticky",
    f"{_INTERNAL_PACKAGE}StickyTaskAssignor": "legacy_sticky",
    f"{_INTERNAL_PACKAGE}FallbackPriorTaskAssignor": "fallback_prior",
    f"{_PUBLIC_PACKAGE}StickyTaskAssignor": "sticky_task_assignor",
}
_EARLY_ACCESS: Final = "4.1"
"""Release with streams groups but without delays before an assignment; it is simulated as the newest."""
_DELAYS: Final = ("group.streams.assignment.interval.ms", "group.streams.initial.rebalance.delay.ms")

_CLIENT_KEYS: Final = ("num.stream.threads",)
"""Configs that a scenario sets per client."""

ConfigsAndRemarks = tuple[Mapping[str, YamlValue], tuple[str, ...]]
"""Configs by Kafka's keys, and sentences on those that a scenario does not support."""


def streams_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the application's configs that a scenario supports, and remarks on the others."""
    application_configs = {key: text for key, text in observation.configs.items() if key not in _CLIENT_KEYS}
    supported, omitted = _split_supported(application_configs, StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL)
    if observation.protocol == "streams":
        supported["group.protocol"] = "streams"
    return dict(sorted(supported.items())), _omission_remarks("the application", omitted)


def consumer_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the configs of a consumer group that a scenario supports, and remarks on the others."""
    supported, omitted = _split_supported(observation.configs, ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL)
    return dict(sorted(supported.items())), _omission_remarks("the consumers", omitted)


def broker_configs(observation: Observation) -> ConfigsAndRemarks:
    """Return the brokers' configs that a scenario supports and that are not defaults, and remarks on the others."""
    supported, omitted = _split_supported(observation.broker_configs, BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL)
    if observation.protocol == "streams" and observation.broker_release == _EARLY_ACCESS:
        supported = {**dict.fromkeys(_DELAYS, 0), **supported}
    defaults = {model_field.alias: model_field.default for model_field in BrokerConfigs.model_fields.values()}
    supported = {key: value for key, value in supported.items() if key not in defaults or value != defaults[key]}
    remarks = _omission_remarks("the brokers", omitted)
    selector = supported.get(_SELECTOR)
    if selector not in (None, RACK_AWARE_SELECTOR, LEADER_SELECTOR):
        del supported[_SELECTOR]
        remarks += (f"{_SELECTOR}={selector} is a custom class; consumers are assumed to read from leaders.",)
    return dict(sorted(supported.items())), remarks


def assignor_of(observation: Observation) -> tuple[str, tuple[str, ...]]:
    """Return the name of the assignor, and a remark if it is a custom class."""
    if observation.protocol == "streams":
        return "streams_group_sticky", ()
    class_name = next((observation.configs[key] for key in _ASSIGNOR_KEYS if observation.configs.get(key)), None)
    if class_name is None:
        return "high_availability", ()
    if class_name in _ASSIGNORS:
        return _ASSIGNORS[class_name], ()
    remark = f"The assignor {class_name} is a custom class; run its Python port with --assignor package.module:Class."
    return "high_availability", (remark,)


def unmodeled_configs(observation: Observation) -> Iterator[str]:
    """Yield sentences on the observed configs whose effect is not simulated."""
    of_clients: tuple[type[ScenarioSection], ConfigsOutsideTheModel] = StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL
    if observation.consumers is not None:
        of_clients = ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL
    for configs, section, outside in (
        (observation.configs, *of_clients),
        (observation.broker_configs, BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    ):
        for key, text in sorted(configs.items()):
            found = _find_unmodeled(key, text, config_keys(section), outside)
            if found is not None:
                yield f"{key}={text.strip()} is not modeled: {found.effect}."


def _split_supported(
    configs: Mapping[str, str], section: type[ScenarioSection], outside: ConfigsOutsideTheModel
) -> tuple[dict[str, YamlValue], list[str]]:
    """Return the configs that a scenario has, and the keys that are unknown; configs without effect are in neither.

    Unmodeled configs are among the former, so that every run of the scenario warns.
    """
    keys = config_keys(section)
    supported: dict[str, YamlValue] = {}
    omitted: list[str] = []
    for key, text in sorted(configs.items()):
        if key in keys or _find_unmodeled(key, text, keys, outside) is not None:
            if text.strip():
                supported[key] = _parse_value(text.strip())
        elif outside.contains(key) or key in _ASSIGNOR_KEYS:
            continue
        elif not any(key.startswith(prefix) for prefix in MISPLACED_CONFIGS):
            omitted.append(key)
    return supported, omitted


def _find_unmodeled(
    key: str, text: str, keys: frozenset[str], outside: ConfigsOutsideTheModel
) -> UnmodeledConfig | None:
    found = None if key in keys or not text.strip() else outside.find(key)
    return found if found is not None and found.applies(text) else None


def _parse_value(text: str) -> YamlValue:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else text


def _omission_remarks(owner: str, omitted: list[str]) -> tuple[str, ...]:
    if not omitted:
        return ()
    return (f"Configs of {owner} that scenarios do not support are omitted: {', '.join(omitted)}.",)


_TIME_AFTER_LAST_REBALANCE_MS: Final = 1_800_000
"""Simulated time after the last rebalance of a replayed history."""


def event_lines(changes: Sequence[MembershipChange], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the section `events`.

    `names`: client name by process id.
    """
    yield "events:"
    for change in changes:
        event: dict[str, YamlValue] = {"clients": [names[process] for process in change.process_ids]}
        if change.leaves_group:
            event["leaves_group"] = True
        if change.down_ms is not None:
            event["down"] = format_duration(change.down_ms)
        yield f"  - {flow_text({'at': format_duration(change.at_ms), change.kind: event})}"


def example_event_lines(client: str) -> Iterator[str]:
    """Yield a comment with an event of a client."""
    yield "# Add events to simulate, for example:"
    yield "# events:"
    yield f"#   - {{at: 1m, leave: {{clients: {flow_text(client)}}}}}"


def rack_lines(client: ObservedProcess | ObservedConsumer, indent: int) -> Iterator[str]:
    """Yield the rack of a client, and whether Kafka knows it; nothing without a rack."""
    if client.rack is not None:
        yield from entry_lines("rack", client.rack, indent)
        if not client.announces_rack:
            yield f"{' ' * indent}client_rack: false"


def duration_line(last_ms: int) -> str:
    """Return the duration of a scenario whose history has its last rebalance at a time."""
    return f"duration: {format_duration(last_ms + _TIME_AFTER_LAST_REBALANCE_MS)}"


_UNCLEAN: Final = "unclean.leader.election.enable"
_SET_BY_STREAMS: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "compression.type": "producer",
}
_SET_FOR_BROKERS: Final = {"min.insync.replicas": "1", _UNCLEAN: "false"}
TOPIC_DEFAULTS: Final = {**_SET_FOR_BROKERS, **_SET_BY_STREAMS}
"""The configs of topics that scenarios have, with the defaults of `LogConfig` in Kafka 4.3.1."""


def header_lines(observation: Observation, warnings: Sequence[str], assumptions: Sequence[str]) -> Iterator[str]:
    """Yield comments on the source, what cannot be simulated, and what is assumed."""
    yield from comment_lines(f"{observation.application_id}, imported: {observation.source}")
    if observation.broker_release is not None:
        yield from comment_lines(f"Brokers: Kafka {observation.broker_release}")
    for sentence in warnings:
        yield "#"
        yield from comment_lines(f"Warning: {sentence}")
    for title, sentences in (("Measured", observation.measurements), ("Assumptions", assumptions)):
        if sentences:
            yield "#"
            yield f"# {title}:"
        for sentence in sentences:
            yield from comment_lines(sentence, "- ")


def cluster_lines(observation: Observation, release: str | None) -> Iterator[str]:
    """Yield the section `cluster`.

    `observation`: the observed state. `release`: the release of the brokers in the scenario; None for the default.
    """
    yield "cluster:"
    if release is not None:
        yield from entry_lines("kafka", release, 2)
    yield "  brokers:"
    for broker in observation.brokers:
        yield f"    - {flow_text({'id': broker.id} | ({} if broker.rack is None else {'rack': broker.rack}))}"
    configs, _ = broker_configs(observation)
    yield from mapping_lines("configs", configs, 2)
    yield "  topics:   # bytes and bytes/s: a list has one entry per partition, a number is the total of the topic"
    volumes = topic_volumes(observation)
    defaults = TOPIC_DEFAULTS | {
        key: observation.broker_configs.get(key, default) for key, default in _SET_FOR_BROKERS.items()
    }
    internal = {name for subtopology in observation.subtopologies for name in subtopology.changelogs.values()}
    for topic in observation.topics:
        yield from _topic_lines(topic, volumes[topic.name], has_id=observation.consumers is not None)
        is_internal = topic.name in internal or repartition_name(observation.application_id, topic.name) is not None
        configs = dict(_topic_configs(topic.configs, defaults, is_internal=is_internal))
        yield from mapping_lines("configs", configs, 6)


def mapping_lines(key: str, content: Mapping[str, YamlValue], indent: int) -> Iterator[str]:
    """Yield a mapping with one line per entry; nothing if it is empty."""
    if content:
        yield f"{' ' * indent}{key}:"
    for name, value in content.items():
        yield from entry_lines(name, value, indent + 2)


def _topic_lines(topic: ObservedTopic, volume: TopicVolume, *, has_id: bool) -> Iterator[str]:
    yield f"    - name: {flow_text(topic.name)}"
    if has_id and topic.topic_id is not None:
        yield from entry_lines("id", str(topic.topic_id), 6)
    yield from entry_lines("replicas", topic.replicas, 6)
    if any(leader != replicas[0] for leader, replicas in zip(topic.leaders, topic.replicas, strict=True)):
        yield from entry_lines("leaders", topic.leaders, 6)
    for key, by_partition in (("bytes_per_s", volume.bytes_per_s), ("size", volume.size_bytes)):
        if by_partition is not None:
            yield from entry_lines(key, _total_if_equal(by_partition), 6)
    if volume.record_bytes is not None:
        yield f"      record_size: {volume.record_bytes}"


def _topic_configs(
    configs: Mapping[str, str], defaults: Mapping[str, str], *, is_internal: bool
) -> Iterator[tuple[str, YamlValue]]:
    """Yield the configs that scenarios have, and that differ from what the scenario has for all topics.

    Kafka Streams sets retention and cleanup of its internal topics itself, and so does a scenario.
    """
    for key, default in defaults.items():
        value = configs.get(key, default)
        if value != default and not (is_internal and key in _SET_BY_STREAMS):
            is_number = re.fullmatch(r"-?\d{1,18}", value)
            yield key, int(value) if is_number else value == "true" if key == _UNCLEAN else value


def _total_if_equal(by_partition: Sequence[int]) -> YamlValue:
    """Return the topic's total if all partitions have the same amount, else the amount of each partition."""
    return sum(by_partition) if len(set(by_partition)) == 1 else by_partition
