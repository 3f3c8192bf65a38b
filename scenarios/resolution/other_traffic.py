"""Resolve other producers and consumer groups of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import InvalidEntry, valid_entries
from scenarios.language.other_traffic_entries import OtherGroupEntry, OtherProducerEntry, OtherTrafficSection
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import has_rack_aware_partitioner, parse_release
from scenarios.resolution.imported_files import ImportedFiles
from scenarios.resolution.measured_users import resolve_measured_users
from scenarios.resolution.other_traffic_context import MEASURED, OTHER_TRAFFIC, OtherTrafficContext, rack_shares
from scenarios.sampling.blueprint import TopicBlueprint
from simulator.world.other_traffic import UNCOMPRESSED, OtherGroup, OtherProducer, OtherTraffic

_TOLERANCE: Final = 1e-9
_STORED_AS_SENT: Final = "producer"


@dataclass(frozen=True, slots=True)
class ResolvedOtherTraffic:
    """The other traffic of a scenario.

    Attributes:
        traffic: the producers and groups; None without the section.
        notes: which measurements were used.
    """

    traffic: OtherTraffic | None = None
    notes: tuple[str, ...] = ()


def resolve_other_traffic(
    section: OtherTrafficSection | None, context: OtherTrafficContext, files: ImportedFiles
) -> ResolvedOtherTraffic:
    """Resolve other traffic, and report mistakes to the context's `source_map`."""
    if section is None:
        return ResolvedOtherTraffic()
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
    measured = resolve_measured_users(section, producers, groups, context, files)
    other = OtherTraffic(
        producers=(*producers, *measured.producers),
        groups=(*groups, *measured.groups),
        topic_codecs=dict(_topic_codecs(context.topics)),
        compression_ratios={str(codec): ratio for codec, ratio in (section.compression_ratios or {}).items()},
    )
    places = [i for i, _ in valid_entries(section.producers)]
    for i, producer in zip(places, producers, strict=True):
        _check_ratios(other, producer, (*OTHER_TRAFFIC, "producers", i), context)
    return ResolvedOtherTraffic(other, measured.notes)


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
