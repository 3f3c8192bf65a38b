"""Resolve other producers and consumer groups of the cluster.

`other_traffic: {from: FOLDER}` is the traffic of producers and consumers that the scenario does not list.

Bytes in of a topic come from producers, and bytes out go to consumers: replication is counted apart. What remains
without the application and the groups of the scenario is read by others. A topic's bytes out count as a multiple of its
bytes in, so that reads follow the traffic of the scenario.

Source: `BrokerTopicStats.updateBytesOut` of Kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.language.errors import did_you_mean, format_list, format_value
from scenarios.language.fields import InvalidEntry, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import has_rack_aware_partitioner, parse_release
from scenarios.language.traffic_entries import OtherGroupEntry, OtherProducerEntry, OtherTrafficSection
from scenarios.language.validation import SourceMap
from scenarios.references import ImportedContent, ImportedFiles
from scenarios.resolution.application import ResolvedApplication
from scenarios.resolution.measured_traffic import MeasuredFanOut, read_fan_out
from scenarios.sampling.blueprint import TopicBlueprint
from simulator.world.world import UNCOMPRESSED, OtherGroup, OtherProducer, OtherTraffic, RackShare, topics_written_by

OTHER_TRAFFIC: Final[ScenarioPath] = ("other_traffic",)

MEASURED: Final = "measured"
"""The name of the producer and the group whose traffic is measured."""


@dataclass(frozen=True, slots=True)
class OtherTrafficContext:
    """What other traffic refers to.

    `all_topics`: with invalid ones; None if not all are known. `racks`: those of brokers and clients; None if not all
    are known. `broker_racks`: sorted. `standbys`: `num.standby.replicas`.
    """

    application_id: str
    application: ResolvedApplication
    topics: Mapping[str, TopicBlueprint]
    all_topics: Collection[str] | None
    racks: Collection[str] | None
    broker_racks: Sequence[str]
    standbys: int
    source_map: SourceMap

    @property
    def written(self) -> frozenset[str]:
        """Return the topics that the application writes, its changelogs included."""
        return frozenset(topics_written_by(self.application.subtopologies))

    @property
    def sources(self) -> list[str]:
        """Return the topics that the application reads and does not write."""
        read = dict.fromkeys(topic for part in self.application.subtopologies for topic in part.source_topics)
        written = self.written
        return [topic for topic in read if topic not in written and topic in self.topics]


def rack_shares(
    weights: Mapping[str, float], path: ScenarioPath, context: OtherTrafficContext
) -> tuple[RackShare, ...]:
    """Return the fraction of each rack, and warn about racks without brokers and clients."""
    total = sum(weights.values())
    for rack in weights:
        if context.racks is not None and rack not in context.racks:
            known = format_list("racks", sorted(context.racks))
            message = f"no broker or client is in rack {format_value(rack)} ({known}), so all its bytes cross racks"
            context.source_map.add_warning(path, message)
    return tuple(RackShare(rack, weight / total) for rack, weight in weights.items() if weight > 0)


_FROM: Final = (*OTHER_TRAFFIC, "from")
_NOISE: Final = 0.05
"""Part of a topic's bytes by which measurements may contradict the application without a warning."""

_OF_MEASUREMENTS: Final = ("racks", "client_rack", "includes_application")


def resolve_measured_users(
    section: OtherTrafficSection,
    producers: Sequence[OtherProducer],
    groups: Sequence[OtherGroup],
    context: OtherTrafficContext,
    files: ImportedFiles,
) -> tuple[tuple[OtherProducer, ...], tuple[OtherGroup, ...], tuple[str, ...]]:
    """Return what listed producers and groups leave of the measured traffic, with notes; nothing without a folder."""
    source_map = context.source_map
    if section.folder is None:
        for key in _OF_MEASUREMENTS:
            if key in section.model_fields_set and source_map.is_valid(*_FROM):
                source_map.add_mistake((*OTHER_TRAFFIC, key), "applies to measurements only; set from, or remove it")
        return (), (), ()
    measured = files.read_folder(_FROM, section.folder, read_fan_out)
    racks = section.racks or dict.fromkeys(context.broker_racks, 1.0)
    if measured is None:
        return (), (), ()
    if not racks:
        source_map.add_mistake(_FROM, "no broker has a rack; set racks, those of the clients that were measured")
        return (), (), ()
    places = rack_shares(racks, (*OTHER_TRAFFIC, "racks"), context)
    _warn_about_topics(measured, context)
    written = dict(_produced(measured.content, producers, context))
    read = dict(_read_by_others(section, measured.content, groups, context))
    shown = [f"{topic} ({share:.3g})" for topic, share in read.items()]
    notes = {
        "measured traffic of other producers used for": list(written),
        "other consumers read, as multiples of what is produced": shown,
    }
    return (
        (OtherProducer(MEASURED, written, places),) if written else (),
        (OtherGroup(MEASURED, tuple(read), places, section.client_rack, share_of=read),) if read else (),
        tuple(f"{measured.source}: {format_list(note, names)}" for note, names in notes.items() if names),
    )


def _warn_about_topics(measured: ImportedContent[MeasuredFanOut], context: OtherTrafficContext) -> None:
    """Warn about topics whose traffic is measured, but not simulated."""
    received, sent = measured.content.bytes_in_per_s, measured.content.bytes_out_per_s
    if context.all_topics is not None:
        missing = [topic for topic in received if topic not in context.all_topics]
        if missing:
            into, out = (sum(rates[topic] for topic in missing) / 1e6 for rates in (received, sent))
            amounts = f"{into:.3g} MB/s in, {out:.3g} MB/s out"
            what = f"measured topics that cluster.topics lacks are not simulated ({amounts})"
            context.source_map.add_warning(_FROM, format_list(what, missing))
    listed = [context.topics[topic] for topic, rate in received.items() if rate and topic in context.topics]
    if silent := [
        plan.name for plan in listed if "bytes_per_s" not in plan.stated_keys and not plan.hourly_bytes_per_s
    ]:
        what = "measured topics have the default rate, since the scenario states none; set traffic: {from: FOLDER}, too"
        context.source_map.add_warning(_FROM, format_list(what, silent))


def _produced(
    measured: MeasuredFanOut, producers: Sequence[OtherProducer], context: OtherTrafficContext
) -> Iterator[tuple[str, float]]:
    """Yield the topics that other producers write, and their part of each."""
    written = context.written
    for topic, rate in measured.bytes_in_per_s.items():
        left = 1.0 - sum(producer.share_of.get(topic, 0.0) for producer in producers)
        if rate and left > _TOLERANCE and topic in context.topics and topic not in written:
            yield topic, left


def _read_by_others(
    section: OtherTrafficSection,
    measured: MeasuredFanOut,
    groups: Sequence[OtherGroup],
    context: OtherTrafficContext,
) -> Iterator[tuple[str, float]]:
    """Yield the topics that other groups read, and the bytes as a multiple of what is produced."""
    own = _own_reads(context) if section.includes_application else {}
    for topic, sent in measured.bytes_out_per_s.items():
        if topic not in context.topics or _is_internal(topic, context):
            continue
        received, reads = measured.bytes_in_per_s[topic], own.get(topic, 0)
        if not received:
            if sent:
                message = f"'{topic}' is read, but nothing is produced to it: its reads are not simulated"
                context.source_map.add_warning(_FROM, message)
            continue
        left = sent / received - reads
        if left < -_NOISE:
            message = (
                f"'{topic}': measured bytes out are {sent / received:.3g} times its bytes in, less than what the "
                f"application reads ({reads}); set includes_application: false if it did not run at that time"
            )
            context.source_map.add_warning(_FROM, message)
        left -= sum(group.reads_of(topic) for group in groups if topic in group.topics)
        if left > _TOLERANCE:
            yield topic, left


def _own_reads(context: OtherTrafficContext) -> Mapping[str, int]:
    """Return how often the application reads each topic: subtopologies, and standbys of topics that are changelogs."""
    reads: dict[str, int] = {}
    for part in context.application.subtopologies:
        logs = [store.changelog for store in part.stores if store.changelog is not None]
        for topic in part.source_topics:
            reads[topic] = reads.get(topic, 0) + 1
        for topic in logs:
            reads[topic] = reads.get(topic, 0) + context.standbys
    return reads


def _is_internal(topic: str, context: OtherTrafficContext) -> bool:
    """Return whether only the application reads a topic: its changelogs and repartition topics."""
    is_named_so = topic.startswith(f"{context.application_id}-") and topic.endswith(("-changelog", "-repartition"))
    logs = (store.changelog for part in context.application.subtopologies for store in part.stores)
    return is_named_so or topic in {log for log in logs if log is not None} & context.written


_TOLERANCE: Final = 1e-9
_STORED_AS_SENT: Final = "producer"


def resolve_other_traffic(
    section: OtherTrafficSection | None, context: OtherTrafficContext, files: ImportedFiles
) -> tuple[OtherTraffic | None, tuple[str, ...]]:
    """Return the other traffic, None without the section, and notes on which measurements were used."""
    if section is None:
        return None, ()
    if (
        section.folder is None
        and not section.producers
        and not section.groups
        and context.source_map.is_valid(*OTHER_TRAFFIC)
    ):
        context.source_map.add_mistake(OTHER_TRAFFIC, "set from, producers or groups")
    _check_names(section, context)
    shares = _shares(section, context)
    producers = tuple(
        _producer(entry, shares.get(i, {}), (*OTHER_TRAFFIC, "producers", i), context)
        for i, entry in valid_entries(section.producers)
    )
    groups = tuple(_group(entry, (*OTHER_TRAFFIC, "groups", i), context) for i, entry in valid_entries(section.groups))
    measured_producers, measured_groups, notes = resolve_measured_users(section, producers, groups, context, files)
    other = OtherTraffic(
        producers=(*producers, *measured_producers),
        groups=(*groups, *measured_groups),
        topic_codecs=dict(_topic_codecs(context.topics)),
        compression_ratios={str(codec): ratio for codec, ratio in (section.compression_ratios or {}).items()},
    )
    places = [i for i, _ in valid_entries(section.producers)]
    for i, producer in zip(places, producers, strict=True):
        _check_ratios(other, producer, (*OTHER_TRAFFIC, "producers", i), context)
    return other, notes


def _check_names(section: OtherTrafficSection, context: OtherTrafficContext) -> None:
    lists: tuple[tuple[str, Sequence[OtherProducerEntry | OtherGroupEntry | InvalidEntry]], ...] = (
        ("producers", section.producers),
        ("groups", section.groups),
    )
    for key, entries in lists:
        seen: dict[str, int] = {}
        for i, entry in valid_entries(entries):
            path, name = (*OTHER_TRAFFIC, key, i, "name"), str(entry.name)
            if name in seen:
                context.source_map.add_mistake(path, f"{format_value(name)} is also the name of {key}[{seen[name]}]")
            elif section.folder is not None and name == MEASURED:
                context.source_map.add_mistake(path, f"{format_value(name)} is the name of what from measures")
            elif key == "groups" and name == context.application_id:
                message = f"{format_value(name)} is the application itself; list other groups only"
                context.source_map.add_mistake(path, message)
            seen.setdefault(name, i)


def _shares(section: OtherTrafficSection, context: OtherTrafficContext) -> dict[int, dict[str, float]]:
    """Return the share of each topic by producer: the stated one, or an equal part of what the stated ones leave."""
    topics_of = {
        i: _known_topics(entry.topics, (*OTHER_TRAFFIC, "producers", i, "topics"), context, writes=True)
        for i, entry in valid_entries(section.producers)
    }
    entries = dict(valid_entries(section.producers))
    shares: dict[int, dict[str, float]] = {i: {} for i in topics_of}
    for topic in dict.fromkeys(name for names in topics_of.values() for name in names):
        of_topic = [i for i, names in topics_of.items() if topic in names]
        stated = sum(entries[i].share or 0.0 for i in of_topic)
        open_ = [i for i in of_topic if entries[i].share is None]
        left = 1.0 - stated
        if left < -_TOLERANCE or (open_ and left < _TOLERANCE):
            path = (*OTHER_TRAFFIC, "producers", of_topic[-1] if not open_ else open_[0], "share")
            rest = f", which leaves nothing for {format_value(entries[open_[0]].name)}" if open_ else ""
            message = f"the shares of producers of '{topic}' add up to {stated:g}{rest} (at most 1)"
            context.source_map.add_mistake(path, message)
            continue
        is_measured = section.folder is not None
        if (
            not open_
            and left > _TOLERANCE
            and not is_measured
            and context.source_map.is_valid(*OTHER_TRAFFIC, "producers")
        ):
            message = f"{left:.0%} of '{topic}' has no producer: that part is replicated and read, not produced"
            context.source_map.add_warning((*OTHER_TRAFFIC, "producers", of_topic[-1], "share"), message)
        for i in of_topic:
            share = entries[i].share
            shares[i][topic] = left / len(open_) if share is None else share
    return shares


def _known_topics(
    names: Sequence[str] | None, path: ScenarioPath, context: OtherTrafficContext, *, writes: bool
) -> list[str]:
    if names is None:
        return context.sources
    known = []
    written = context.written if writes else frozenset()
    for i, name in enumerate(names):
        if name in names[:i]:
            context.source_map.add_mistake((*path, i), f"{format_value(name)} is listed twice")
        elif name in written:
            message = f"{format_value(name)} is written by the application; other producers of it are not supported"
            context.source_map.add_mistake((*path, i), message)
        elif name in context.topics:
            known.append(name)
        elif context.all_topics is not None and name not in context.all_topics:
            hint = did_you_mean(name, sorted(context.all_topics), "topics")
            context.source_map.add_mistake((*path, i), f"unknown topic {format_value(name)} ({hint})")
    return known


def _producer(
    entry: OtherProducerEntry, share_of: Mapping[str, float], path: ScenarioPath, context: OtherTrafficContext
) -> OtherProducer:
    configs, has_keys = entry.configs, entry.keyed and not entry.configs.ignores_keys
    release = parse_release(entry.kafka)
    config_path = (*path, "configs", "partitioner.rack.aware")
    if configs.rack_aware and not has_rack_aware_partitioner(release):
        message = f"Kafka {entry.kafka} has no partitioner.rack.aware; set kafka: '4.4', or remove it"
        context.source_map.add_mistake(config_path, message)
    elif configs.rack_aware and has_keys:
        message = "has no effect on records with keys (keyed: true); set keyed: false if they have none"
        context.source_map.add_warning(config_path, message)
    return OtherProducer(
        name=entry.name,
        share_of=share_of,
        racks=rack_shares(entry.racks, (*path, "racks"), context),
        is_rack_aware=configs.rack_aware and not has_keys,
        has_keys=has_keys,
        codec=configs.compression,
    )


def _group(entry: OtherGroupEntry, path: ScenarioPath, context: OtherTrafficContext) -> OtherGroup:
    return OtherGroup(
        name=entry.name,
        topics=tuple(_known_topics(entry.topics, (*path, "topics"), context, writes=False)),
        racks=rack_shares(entry.racks, (*path, "racks"), context),
        announces_rack=entry.client_rack,
        read_share=entry.read_share,
    )


def _topic_codecs(topics: Mapping[str, TopicBlueprint]) -> Iterator[tuple[str, str]]:
    """Yield the topics whose leaders recompress, each with the codec."""
    for topic in topics.values():
        codec = topic.configs.get("compression.type", _STORED_AS_SENT)
        if codec != _STORED_AS_SENT:
            yield topic.name, UNCOMPRESSED if codec == "uncompressed" else codec


def _check_ratios(
    other: OtherTraffic, producer: OtherProducer, path: ScenarioPath, context: OtherTrafficContext
) -> None:
    """Report the first topic whose leader recompresses by a ratio that is not stated."""
    for topic in producer.share_of:
        if other.sent_per_stored_byte(producer, topic) is None:
            codecs = [producer.codec, other.topic_codecs[topic]]
            missing = next(codec for codec in codecs if other.ratio(codec) is None)
            message = (
                f"topic '{topic}' has compression.type {other.topic_codecs[topic]}, the producer {producer.codec}: "
                f"state how well the records compress, as in compression_ratios: {{{missing}: 4}}"
            )
            context.source_map.add_mistake((*path, "configs", "compression.type"), message)
            return
