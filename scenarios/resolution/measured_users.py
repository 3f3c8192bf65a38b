"""Resolve `other_traffic: {from: FOLDER}`: the traffic of producers and consumers that the scenario does not list.

Bytes in of a topic come from producers, and bytes out go to consumers: replication is counted apart. What remains
without the application and the groups of the scenario is read by others. A topic's bytes out count as a multiple of its
bytes in, so that reads follow the traffic of the scenario.

Source: `BrokerTopicStats.updateBytesOut` of Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.language.errors import format_list
from scenarios.language.other_traffic_entries import OtherTrafficSection
from scenarios.resolution.imported_files import ImportedContent, ImportedFiles
from scenarios.resolution.measured_traffic import MeasuredFanOut, read_fan_out
from scenarios.resolution.other_traffic_context import MEASURED, OTHER_TRAFFIC, OtherTrafficContext, rack_shares
from simulator.world.other_traffic import OtherGroup, OtherProducer

_FROM: Final = (*OTHER_TRAFFIC, "from")
_TOLERANCE: Final = 1e-9
_NOISE: Final = 0.05
"""Part of a topic's bytes by which measurements may contradict the application without a warning."""

_OF_MEASUREMENTS: Final = ("racks", "client_rack", "includes_application")


@dataclass(frozen=True, slots=True)
class MeasuredUsers:
    """The producer and the group whose traffic is measured, if any.

    Attributes:
        producers: the producer, or nothing.
        groups: the group, or nothing.
        notes: which measurements were used.
    """

    producers: tuple[OtherProducer, ...] = ()
    groups: tuple[OtherGroup, ...] = ()
    notes: tuple[str, ...] = ()


def resolve_measured_users(
    section: OtherTrafficSection,
    producers: Sequence[OtherProducer],
    groups: Sequence[OtherGroup],
    context: OtherTrafficContext,
    files: ImportedFiles,
) -> MeasuredUsers:
    """Return what listed producers and groups leave of the measured traffic; report mistakes to the source map.

    Args:
        section: the section.
        producers: the listed producers.
        groups: the listed groups.
        context: what they refer to.
        files: reads the folder.

    Returns:
        The measured producer and group; nothing without a folder.
    """
    source_map = context.source_map
    if section.folder is None:
        for key in _OF_MEASUREMENTS:
            if key in section.model_fields_set and source_map.is_valid(*_FROM):
                source_map.add_mistake((*OTHER_TRAFFIC, key), "applies to measurements only; set from, or remove it")
        return MeasuredUsers()
    measured = files.read_folder(_FROM, section.folder, read_fan_out)
    racks = section.racks or dict.fromkeys(context.broker_racks, 1.0)
    if measured is None:
        return MeasuredUsers()
    if not racks:
        source_map.add_mistake(_FROM, "no broker has a rack; set racks, those of the clients that were measured")
        return MeasuredUsers()
    places = rack_shares(racks, (*OTHER_TRAFFIC, "racks"), context)
    _warn_about_topics(measured, context)
    written = dict(_produced(measured.content, producers, context))
    read = dict(_read_by_others(section, measured.content, groups, context))
    shown = [f"{topic} ({share:.3g})" for topic, share in read.items()]
    notes = {
        "measured traffic of other producers used for": list(written),
        "other consumers read, as multiples of what is produced": shown,
    }
    return MeasuredUsers(
        producers=(OtherProducer(MEASURED, written, places),) if written else (),
        groups=(OtherGroup(MEASURED, tuple(read), places, section.client_rack, share_of=read),) if read else (),
        notes=tuple(f"{measured.source}: {format_list(note, names)}" for note, names in notes.items() if names),
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
