r"""Output of `Topology.describe()`, and the topic patterns with which an application subscribes.

Global stores create no tasks and are skipped. Topic names are those of the program: repartition topics lack the
application id. The output does not show whether a store has a changelog.

Patterns are regular expressions of Java. Supported are characters, `.`, classes such as `[a-z]` and `\d`, quotes
(`\Q…\E`), groups, alternatives and quantifiers. Not supported are quantified groups other than `(…)?`, and patterns
whose matching may take long.

Source: `org.apache.kafka.streams.processor.internals.InternalTopologyBuilder` (`TopologyDescription`;
`SourceNodeFactory.isMatch`: the whole name matches); `exclude.internal.topics` of the consumer;
`org.apache.kafka.common.internals.Topic`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from scenarios.kafka.formats.lines import FormatError, numbered_lines

_BROKER_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics of the brokers, to which patterns do not subscribe."""

_MAX_NAME: Final = 249
"""Maximum length of a topic name."""

_MAX_PATHS: Final = 500_000
"""Maximum number of ways in which a backtracking matcher may try a pattern."""

_MAX_DEPTH: Final = 20
"""Maximum number of nested groups."""

_TOKEN: Final = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|$))|(?P<group>\((?:\?:)?)|(?P<end>\))|(?P<or>\|)|(?P<anchor>[\^$])"
    r"|(?P<atom>[A-Za-z0-9_.-]|\\[.dw_-]|\[\^?(?:[A-Za-z0-9_.-]|\\[.dw_-])+\])"
    r"(?:(?P<repeated>[*+])|(?P<optional>\?)|\{(?P<least>\d{1,3})(?P<range>,(?P<most>\d{0,3}))?\})?\??"
)


def match_topics(pattern: str, topics: Collection[str]) -> list[str]:
    """Return the topics to which a pattern subscribes, sorted.

    `pattern`: the pattern, as in the output of `Topology.describe()`. Raises FormatError if the pattern is not
    supported, or matches no topic.
    """
    compiled = compile_pattern(pattern)
    if compiled is None:
        raise FormatError(
            None, f"the pattern '{pattern[:60]}' is too complex to match; replace it with the topics, as [a, b]"
        )
    matching = [topic for topic in sorted(set(topics) - _BROKER_TOPICS) if compiled.fullmatch(topic)]
    if not matching:
        raise FormatError(None, f"the pattern '{pattern[:60]}' matches no topic of the cluster")
    return matching


def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern that matches whole names in Python; None if it is not supported."""
    try:
        return re.compile(_Translator(pattern).translate(), re.ASCII)
    except re.error:
        return None


class _Translator:
    """Translates a pattern to Python, and counts the ways in which it may be tried."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._parts: list[str] = []

    def translate(self) -> str:
        """Return the pattern in Python.

        Raises re.error if the pattern is malformed, not supported, or can be tried in too many ways.
        """
        paths = self._alternatives(depth=0)
        if self._position < len(self._pattern) or paths > _MAX_PATHS:
            raise re.error("not supported")
        return "".join(self._parts)

    def _alternatives(self, depth: int) -> int:
        """Read up to the end of a group or of the pattern; the ways of alternatives add up."""
        total, paths = 0, 1
        while self._position < len(self._pattern):
            token = _TOKEN.match(self._pattern, self._position)
            if token is None or depth > _MAX_DEPTH:
                raise re.error("not supported")
            if token["end"]:
                break
            self._position = token.end()
            self._parts.append(re.escape(token[0][2:].removesuffix("\\E")) if token["quoted"] else token[0])
            if token["group"]:
                paths *= self._group(depth + 1)
            elif token["or"]:
                total, paths = total + paths, 1
            else:
                paths *= _count_repetitions(token)
            paths = min(paths, _MAX_PATHS + 1)
        return total + paths

    def _group(self, depth: int) -> int:
        paths = self._alternatives(depth)
        end = re.compile(r"\)(\?(?![?+]))?(?![*+?{])").match(self._pattern, self._position)
        if end is None:
            raise re.error("not supported")
        self._position = end.end()
        self._parts.append(end[0])
        return paths + (end[1] is not None)


def _count_repetitions(token: re.Match[str]) -> int:
    if token["repeated"] or token["range"] == ",":
        return _MAX_NAME + 1
    if token["range"]:
        return max(1, int(token["most"]) - int(token["least"]) + 1)
    return 2 if token["optional"] else 1


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
        stores: Line number of each store.
        store_of: Store of each processor that has exactly one.
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
