"""What `Topology.describe()` prints: subtopologies with their sources, sinks and stores.

Global stores make no tasks and are passed over. Topics stand there as in the program: repartition topics without the
application id. The text does not say whether a store has a changelog.

Source: `org.apache.kafka.streams.processor.internals.InternalTopologyBuilder.TopologyDescription`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from scenarios.kafka.formats.lines import FormatError, numbered_lines

_HEADER = re.compile(r"(Topolog(y|ies)|Sub-topologies)\b.*:")
_SUBTOPOLOGY = re.compile(r"Sub-topology: (\d{1,9})( for global store \(will not generate tasks\))?")
_SOURCE = re.compile(r"Source: +(?P<name>.+?) +\(topics: +(?P<topics>.*?)\)(?: *-->.*)?")
_PROCESSOR = re.compile(r"Processor: +(?P<name>.+?) +\(stores: +\[(?P<stores>.*?)\]\)(?: *(?:-->|<--).*)?")
_SINK = re.compile(r"Sink: +.+? +\((?:topic: +(?P<topic>.*?)|extractor class: +.*)\)(?: *<--.*)?")
_TABLE_SOURCE = re.compile(r"KTABLE-SOURCE-\d+")


@dataclass(frozen=True, slots=True)
class DescribedSource:
    """A source node: the topics it reads, or the pattern that it subscribes to."""

    name: str
    line: int
    topics: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class DescribedStore:
    """A state store, and the line that names it first.

    `table_of` is the topic that a table is read from: with `topology.optimization` that is the store's changelog.
    """

    name: str
    line: int
    table_of: str | None = None


@dataclass(frozen=True, slots=True)
class DescribedSubtopology:
    """A subtopology, everything in the order of the text; `sinks` are the topics it writes, where they are fixed."""

    id: int
    line: int
    sources: tuple[DescribedSource, ...]
    stores: tuple[DescribedStore, ...]
    sinks: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    id: int
    line: int
    is_global: bool
    sources: dict[str, DescribedSource] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    fills: dict[str, str] = field(default_factory=dict)
    """The store of each processor that has just one."""
    predecessors: dict[str, list[str]] = field(default_factory=dict)
    sinks: dict[str, None] = field(default_factory=dict)


def parse_topology(text: str) -> tuple[DescribedSubtopology, ...]:
    """Read the subtopologies that make tasks, in the order of the text.

    Raises:
        FormatError: a line is something else, or two subtopologies have one number.
    """
    drafts: dict[int, _Draft] = {}
    draft: _Draft | None = None
    node: str | None = None
    for number, full_line in numbered_lines(text):
        line = full_line.strip()
        if _HEADER.fullmatch(line):
            continue
        if match := _SUBTOPOLOGY.fullmatch(line):
            draft = _Draft(int(match[1]), number, is_global=match[2] is not None)
            if draft.id in drafts:
                raise FormatError(number, f"sub-topology {draft.id} stands here again")
            drafts[draft.id] = draft
        elif draft is None:
            raise FormatError(number, f"'{line[:60]}' stands before the first 'Sub-topology: 0'")
        elif line.startswith(("-->", "<--")):
            if line.startswith("<--") and node is not None:
                draft.predecessors[node] = [name.strip() for name in line[3:].split(",")]
        else:
            node = _add_node(draft, number, line)
    if draft is None:
        raise FormatError(None, "no sub-topologies; this should be what Topology.describe() prints")
    return tuple(_finish(draft) for draft in drafts.values() if not draft.is_global)


def _add_node(draft: _Draft, number: int, line: str) -> str | None:
    """Take up a source, processor or sink; return its name where its predecessors matter."""
    if match := _SOURCE.fullmatch(line):
        draft.sources[match["name"]] = _source(match["name"], number, match["topics"])
        return None
    if match := _PROCESSOR.fullmatch(line):
        stores = _names(match["stores"])
        for store in stores:
            draft.stores.setdefault(store, number)
        if len(stores) == 1:
            draft.fills[match["name"]] = stores[0]
        return match["name"]
    if match := _SINK.fullmatch(line):
        if match["topic"]:
            draft.sinks[match["topic"]] = None
        return None
    raise FormatError(
        number, f"'{line[:60]}' is not a source, a processor or a sink as Topology.describe() prints them"
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _source(name: str, number: int, text: str) -> DescribedSource:
    """Topics stand in square brackets, a pattern does not."""
    if text.startswith("[") and text.endswith("]"):
        return DescribedSource(name, number, topics=tuple(_names(text[1:-1])))
    return DescribedSource(name, number, pattern=text)


def _finish(draft: _Draft) -> DescribedSubtopology:
    tables: dict[str, str] = {}
    for processor, store in draft.fills.items():
        for predecessor in draft.predecessors.get(processor, []):
            source = draft.sources.get(predecessor)
            named = _TABLE_SOURCE.fullmatch(processor) or predecessor == f"{processor}-source"
            if named and source is not None and len(source.topics) == 1:
                tables[store] = source.topics[0]
    return DescribedSubtopology(
        draft.id,
        draft.line,
        tuple(draft.sources.values()),
        tuple(DescribedStore(name, line, tables.get(name)) for name, line in draft.stores.items()),
        tuple(draft.sinks),
    )
