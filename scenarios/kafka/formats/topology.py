"""Output of `Topology.describe()`: subtopologies with their sources, stores and sinks.

Global stores create no tasks and are skipped. Topic names are those of the program: repartition topics lack the
application id. The output does not show whether a store has a changelog.

Source: `org.apache.kafka.streams.processor.internals.InternalTopologyBuilder.TopologyDescription`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scenarios.kafka.formats.lines import FormatError, numbered_lines

_HEADER = re.compile(r"(Topolog(y|ies)|Sub-topologies)\b.*:")
_SUBTOPOLOGY = re.compile(r"Sub-topology: (\d{1,9})( for global store \(will not generate tasks\))?")
_SOURCE = re.compile(r"Source: +(?P<name>.+?) +\(topics: +(?P<topics>.*?)\)(?: *-->.*)?")
_PROCESSOR = re.compile(r"Processor: +(?P<name>.+?) +\(stores: +\[(?P<stores>.*?)\]\)(?: *(?:-->|<--).*)?")
_SINK = re.compile(r"Sink: +.+? +\((?:topic: +(?P<topic>.*?)|extractor class: +.*)\)(?: *<--.*)?")
_BLOCK_LINE = re.compile(r"\s*(Sub-topology: \d|Source: |Processor: |Sink: |-->|<--|$)")
"""Lines of a printed topology after its header."""
_TABLE_SOURCE = re.compile(r"KTABLE-SOURCE-\d+")


@dataclass(frozen=True, slots=True)
class DescribedSource:
    """A source node.

    Attributes:
        name: Name of the node.
        topics: Topics it reads; empty if it subscribes to a pattern.
        pattern: Topic pattern that it subscribes to; None if it lists topics.
    """

    name: str
    line: int
    topics: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class DescribedStore:
    """A state store.

    Attributes:
        name: Name of the store.
        line: Number of the first line that names it.
        table_of: Source topic of the table that the store holds; with `topology.optimization` the store's changelog.
            None if the store does not hold a source table.
    """

    name: str
    line: int
    table_of: str | None = None


@dataclass(frozen=True, slots=True)
class DescribedSubtopology:
    """A subtopology; nodes in the order of the text.

    Attributes:
        id: Number of the subtopology.
        line: Number of its first line.
        sources: Source nodes.
        stores: State stores.
        sinks: Topics it writes, except those chosen per record.
    """

    id: int
    line: int
    sources: tuple[DescribedSource, ...]
    stores: tuple[DescribedStore, ...]
    sinks: tuple[str, ...]


@dataclass(slots=True)
class _SubtopologyDraft:
    """A subtopology while its lines are read.

    Attributes:
        id: Number of the subtopology.
        line: Number of its first line.
        is_global: Whether it fills a global store.
        sources: Source nodes by name.
        stores: Line number of each store.
        store_of: Store of each processor that has exactly one.
        predecessors: Predecessors of each processor.
        sinks: Topics it writes, as keys.
    """

    id: int
    line: int
    is_global: bool
    sources: dict[str, DescribedSource] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    store_of: dict[str, str] = field(default_factory=dict)
    predecessors: dict[str, list[str]] = field(default_factory=dict)
    sinks: dict[str, None] = field(default_factory=dict)


def find_topologies(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the output of `Topology.describe()` in the lines of a log, with the index of its first line.

    A line that is no part of it, or a subtopology with the number of an earlier one, ends it.
    """
    start, ids = 0, set[str]()
    for index, line in enumerate((*lines, "end")):
        match = _SUBTOPOLOGY.fullmatch(line.strip())
        ends = not _BLOCK_LINE.match(line) or (match is not None and match[1] in ids)
        if ids and ends:
            yield start, "\n".join(lines[start:index])
            ids = set()
        if match is not None:
            start = start if ids else index
            ids.add(match[1])


def parse_topology(text: str) -> tuple[DescribedSubtopology, ...]:
    """Parse the output of `Topology.describe()`.

    Returns the subtopologies that create tasks, in the order of the text. Raises FormatError if a line is not such
    output, or a subtopology number appears twice.
    """
    drafts: dict[int, _SubtopologyDraft] = {}
    draft: _SubtopologyDraft | None = None
    node: str | None = None
    for number, full_line in numbered_lines(text):
        line = full_line.strip()
        if _HEADER.fullmatch(line):
            continue
        if match := _SUBTOPOLOGY.fullmatch(line):
            draft = _SubtopologyDraft(int(match[1]), number, is_global=match[2] is not None)
            if draft.id in drafts:
                raise FormatError(number, f"duplicate sub-topology {draft.id}")
            drafts[draft.id] = draft
        elif draft is None:
            raise FormatError(number, f"'{line[:60]}' before the first 'Sub-topology: 0'")
        elif line.startswith(("-->", "<--")):
            if line.startswith("<--") and node is not None:
                draft.predecessors[node] = [name.strip() for name in line[3:].split(",")]
        else:
            node = _add_node(draft, number, line)
    if draft is None:
        raise FormatError(None, "no sub-topologies; expected the output of Topology.describe()")
    return tuple(_finish(draft) for draft in drafts.values() if not draft.is_global)


def _add_node(draft: _SubtopologyDraft, number: int, line: str) -> str | None:
    """Add a source, processor or sink.

    Returns the name of a processor, whose predecessors matter; None for other nodes. Raises FormatError if the line is
    none of them.
    """
    if match := _SOURCE.fullmatch(line):
        draft.sources[match["name"]] = _parse_source(match["name"], number, match["topics"])
        return None
    if match := _PROCESSOR.fullmatch(line):
        stores = _split_names(match["stores"])
        for store in stores:
            draft.stores.setdefault(store, number)
        if len(stores) == 1:
            draft.store_of[match["name"]] = stores[0]
        return match["name"]
    if match := _SINK.fullmatch(line):
        if match["topic"]:
            draft.sinks[match["topic"]] = None
        return None
    raise FormatError(number, f"'{line[:60]}' is not a source, processor or sink of Topology.describe()")


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse_source(name: str, number: int, text: str) -> DescribedSource:
    """Return a source; topics are in square brackets, a pattern is not, but may start and end with a class."""
    if text.startswith("[") and text.endswith("]") and not set("[]") & set(text[1:-1]):
        return DescribedSource(name, number, topics=tuple(_split_names(text[1:-1])))
    return DescribedSource(name, number, pattern=text)


def _finish(draft: _SubtopologyDraft) -> DescribedSubtopology:
    table_of: dict[str, str] = {}
    for processor, store in draft.store_of.items():
        for predecessor in draft.predecessors.get(processor, []):
            source = draft.sources.get(predecessor)
            is_table = _TABLE_SOURCE.fullmatch(processor) or predecessor == f"{processor}-source"
            if is_table and source is not None and len(source.topics) == 1:
                table_of[store] = source.topics[0]
    return DescribedSubtopology(
        draft.id,
        draft.line,
        tuple(draft.sources.values()),
        tuple(DescribedStore(name, line, table_of.get(name)) for name, line in draft.stores.items()),
        tuple(draft.sinks),
    )
