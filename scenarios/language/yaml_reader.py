"""Parse YAML into plain data and record the line of every value.

ruamel.yaml composes the nodes. This module converts them by the core schema of YAML 1.2 to dicts, lists, strings,
numbers, booleans and None, so `no`, `on` and `10:00` stay strings. A tag never constructs any other type, and keys are
always strings. `MAX_BYTES`, `MAX_NODES` and `MAX_DEPTH` bound the time for a hostile or accidentally large file.

Source: YAML 1.2.2, sections 10.2 and 10.3 (tag resolution); merge keys as in https://yaml.org/type/merge.html.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import Reader
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag

from scenarios.language.errors import format_value
from scenarios.language.paths import ScenarioPath

MAX_BYTES: Final = 400_000
"""The maximum length of a file; ordinary YAML of this length takes 1 to 2 s to read, the slowest known 4 s."""

MAX_NODES: Final = 60_000
"""The maximum number of values in a file after aliases are expanded; stops alias bombs."""

MAX_DEPTH: Final = 40
"""The maximum nesting depth; a scenario needs about eight levels."""

TOO_LONG_MESSAGE: Final = (
    f"longer than the maximum of {MAX_BYTES:,} bytes; save long lists of topics as kafka-topics.sh --describe prints "
    "them, and name that file under cluster.from.topics"
)

_TAG_PREFIX = "tag:yaml.org,2002:"
_UNTAGGED = Tag(suffix="?")
_SCALAR_TYPES: Final = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}

_WORDS_OF_SCHEMA: Final = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]{1,100}")
_OCTAL = re.compile(r"0o[0-7]{1,100}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,100}|[0-9]{1,100}(\.[0-9]{0,100})?)([eE][-+]?[0-9]{1,5})?")
_WRITTEN = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.(nan|NaN|NAN)")


class YamlReadError(ValueError):
    """A text that is not valid YAML or not plain data. `line`: the line of the error, from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class WrittenFloat(float):
    """A number of digits and one point, and how it was written: a release of Kafka may be 4.10.

    `text`: what the file has.
    """

    text: str


@dataclass(frozen=True, slots=True)
class LocatedYaml:
    """The data of a YAML document with line numbers.

    `value`: dicts, lists and scalars; no two paths share an object.
    """

    value: Any
    lines: dict[ScenarioPath, int]


def read_yaml(text: str, max_nodes: int = MAX_NODES) -> LocatedYaml:
    """Parse one YAML document.

    `max_nodes`: the maximum number of values, counted after aliases are expanded. Returns the data and the line of
    every value. Raises YamlReadError if the text is not YAML, holds no document or several, exceeds a limit, or
    contains a tag of a non-plain type, a duplicate key, a key that is not a scalar, or an alias that contains itself.
    """
    if len(text) > MAX_BYTES:
        raise YamlReadError(text.count("\n", 0, MAX_BYTES) + 1, TOO_LONG_MESSAGE)
    located = _read_json_line(text, max_nodes)
    if located is not None:
        return located
    root = _compose(text)
    converter = _NodeConverter(max_nodes)
    return LocatedYaml(converter.convert(root, (), _line(root)), converter.lines)


def _read_json_line(text: str, max_nodes: int) -> LocatedYaml | None:
    """Return the data of a JSON object on one line, which programs write; None for any other text.

    It is YAML, too, with the same data, and much faster to read. What is wrong with it, the YAML reader says.
    """
    if not text.startswith("{") or not text.isascii() or not text.isprintable() or "\\ud" in text.lower():
        return None
    try:
        value = json.loads(
            text,
            parse_float=_resolve_plain,
            parse_int=_resolve_plain,
            parse_constant=_refuse,
            object_pairs_hook=_without_duplicates,
        )
    except (ValueError, RecursionError):
        return None
    paths = _paths(value)
    lines = dict.fromkeys(islice(paths, max_nodes), 1)
    is_whole = next(paths, None) is None
    return LocatedYaml(value, lines) if is_whole and max(map(len, lines)) <= MAX_DEPTH else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("duplicate key")
    return entries


def _paths(value: Any, path: ScenarioPath = ()) -> Iterator[ScenarioPath]:
    """Yield the path of each value, down to `MAX_DEPTH` levels and the next one."""
    yield path
    if isinstance(value, dict | list) and len(path) <= MAX_DEPTH:
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(entry, (*path, key))


def read_yaml_documents(text: str, max_nodes: int = MAX_NODES) -> list[LocatedYaml]:
    """Parse all YAML documents of a text; empty ones are left out.

    `max_nodes`: the maximum number of values of all documents, counted after aliases are expanded. Returns the data of
    each document, with lines in the text. Raises YamlReadError as in `read_yaml`, except that there may be any number
    of documents.
    """
    if len(text) > MAX_BYTES:
        line = text.count("\n", 0, MAX_BYTES) + 1
        raise YamlReadError(line, f"longer than the maximum of {MAX_BYTES:,} bytes")
    documents, count = [], 0
    for root in _compose_all(text):
        converter = _NodeConverter(max_nodes - count)
        documents.append(LocatedYaml(converter.convert(root, (), _line(root)), converter.lines))
        count += converter.count
    return [document for document in documents if document.value is not None]


def read_yaml_value(text: str) -> Any:
    """Parse a value such as `3` or `[az1, az2]`, None for a blank text; raise YamlReadError as in `read_yaml`."""
    return read_yaml(text).value if text.strip() else None


class _LineFeedReader(Reader):
    """A reader whose marks count line feeds, as editors and other tools do; YAML counts lone carriage returns, too."""

    _next_index = 0
    _line_feeds = 0

    def get_mark(self) -> StringMark:
        # Marks are asked for in the order of the text.
        self._line_feeds += self.buffer.count("\n", self._next_index, self.index)
        self._next_index = self.index
        return StringMark(self.name, self.index, self._line_feeds, self.column, self.buffer, self.pointer)


class _CachingComposer(Composer):
    """A composer that looks up parser and resolver once instead of several times a node (20 % faster)."""

    @cached_property
    def parser(self) -> Any:
        return self.loader.parser

    @cached_property
    def resolver(self) -> Any:
        return self.loader.resolver

    def get_single_node(self) -> Any:
        return self._with_line(super().get_single_node)

    def check_node(self) -> Any:
        return self._with_line(super().check_node)

    def get_node(self) -> Any:
        return self._with_line(super().get_node)

    def _with_line(self, compose: Callable[[], Any]) -> Any:
        try:
            return compose()
        except (ArithmeticError, LookupError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, YAMLError):
                raise
            # ruamel.yaml raises built-in exceptions without a line for some malformed escapes and directives.
            line = self.loader.reader.get_mark().line + 1
            raise YamlReadError(line, "not YAML: invalid escape sequence or directive") from None


class _NoResolver(VersionedResolver):
    """A resolver that gives nodes without an explicit tag a common tag, to distinguish them from tagged nodes."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Tag:
        return _UNTAGGED


def _compose(text: str) -> Node:
    roots = _nodes(text, lambda yaml: [yaml.compose(text)])
    if roots[0] is None:
        raise YamlReadError(1, "the file is empty; a scenario is a mapping with cluster, application and clients")
    return roots[0]


def _compose_all(text: str) -> list[Node]:
    return [root for root in _nodes(text, lambda yaml: list(yaml.compose_all(text))) if root is not None]


def _nodes(text: str, compose: Callable[[YAML], list[Node | None]]) -> list[Node | None]:
    """Return the nodes that a function composes, with errors as messages with lines."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _LineFeedReader
    yaml.Composer = _CachingComposer
    yaml.Resolver = _NoResolver
    yaml.composer.warn_double_anchors = False
    yaml.max_depth = MAX_DEPTH + 1
    try:
        return compose(yaml)
    except YamlReadError:
        raise
    except MaxDepthExceededError as error:
        raise _too_deep(error.problem_mark.line + 1) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlReadError(1 if mark is None else mark.line + 1, f"not YAML: {_in_words(error)}") from None
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
        raise YamlReadError(line, f"not YAML: {str(error).splitlines()[0]}") from None


def _in_words(error: MarkedYAMLError) -> str:
    """Return what is wrong, with the line in which it begins; of rare errors, the words of the parser."""
    problem = str(error.problem or "")
    begins = "" if error.context_mark is None else f" that begins in line {error.context_mark.line + 1}"
    if "<block end>" in problem:
        return f"indented unlike the other entries of the list or mapping{begins}"
    if "that cannot start any token" in problem and "\\t" in problem:
        return "a tab before a key; YAML indents by spaces only"
    if problem.startswith("expected ','"):
        opening = "{" if "}" in problem else "["
        return f"no comma or closing bracket follows an entry of the '{opening}'{begins}"
    if problem in ("found unexpected end of stream", "found unexpected document separator"):
        return f"the quoted text{begins} has no closing quote"
    if problem == "mapping values are not allowed here":
        return "': ' is not expected here; put a value with ': ' in quotes, or correct the indentation"
    if problem == "could not find expected ':'":
        return f"no ':' follows the key{begins}"
    for pattern, words in _WORDS:
        if found := re.search(pattern, f"{error.context or ''} {problem}"):
            return words.format(*found.groups())
    return " ".join(str(part) for part in (error.context, error.problem) if part)


_WORDS: Final = (
    (
        r"(?:found character|expected the node content, but found) '(.)'",
        "a value cannot begin with {0}; put it in quotes",
    ),
    (
        r"found undefined alias '(.*)'",
        "the alias *{0} has no anchor &{0} before it; put a text that begins with * in quotes",
    ),
    (r"scanning an (?:alias|anchor)", "a value cannot begin with * or & without a name; put it in quotes"),
    (r"(?:parsing|scanning) an? tag|undefined tag handle", "a value that begins with ! is a tag; put a text in quotes"),
    (r"scanning a block scalar", "text follows | or > in the same line; write it in the next lines, or in quotes"),
    (r"mapping keys are not allowed", "'? ' is not expected here; put the text in quotes"),
    (r"sequence entries are not allowed", "'- ' is not expected here; begin a line with it, or write [a, b]"),
    (
        r"escape (?:character|sequence)",
        "unknown escape sequence in a text in double quotes; write \\\\ for a backslash, or use single quotes",
    ),
    (r"'<document start>'|directive", "a line that begins with % is a directive; put a text in quotes"),
    (r"expected a single document", "a second document begins; write one document per file"),
)
"""Errors of the parser, and what is wrong."""


class _NodeConverter:
    """Converts nodes to data, expands aliases, and records the line of every path."""

    def __init__(self, max_nodes: int) -> None:
        self.lines: dict[ScenarioPath, int] = {}
        self._max_nodes = max_nodes
        self.count = 0
        self._open_nodes: set[int] = set()

    def convert(self, node: Node, path: ScenarioPath, line: int) -> Any:
        self._count_node(node)
        if len(path) > MAX_DEPTH:
            raise _too_deep(_line(node))
        self.lines[path] = line
        if isinstance(node, ScalarNode):
            return _convert_scalar(node)
        self._check_not_open(node)
        self._open_nodes.add(id(node))
        value = self._convert_mapping(node, path) if isinstance(node, MappingNode) else self._convert_list(node, path)
        self._open_nodes.remove(id(node))
        return value

    def _convert_list(self, node: Node, path: ScenarioPath) -> list[Any]:
        _check_tag(node, "seq")
        return [self.convert(child, (*path, i), _line(child)) for i, child in enumerate(node.value)]

    def _convert_mapping(self, node: Node, path: ScenarioPath) -> dict[str, Any]:
        _check_tag(node, "map")
        entries = self._entries(node, len(path))
        return {key: self.convert(value_node, (*path, key), _line(key_node)) for key, key_node, value_node in entries}

    def _entries(self, node: Node, depth: int) -> Iterator[tuple[str, Node, Node]]:
        """Yield the entries of a mapping, its own before those merged by `<<`; the first entry of a key wins.

        Yields key, key node and value node. Raises YamlReadError if a key is duplicate or invalid, `<<` does not merge
        mappings, or a limit is exceeded.
        """
        if depth > MAX_DEPTH:
            raise _too_deep(_line(node))
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            key = _convert_key(key_node)
            if key == "<<" and key_node.style is None:
                merged.extend(_merged_mappings(value_node))
            elif key in lines:
                message = f"duplicate key {format_value(key)} in this mapping (first in line {lines[key]})"
                raise YamlReadError(_line(key_node), message)
            else:
                lines[key] = _line(key_node)
                yield key, key_node, value_node
        for mapping in merged:
            self._check_not_open(mapping)
            for key, key_node, value_node in self._entries(mapping, depth + 1):
                self._count_node(node)
                if key not in lines:
                    lines[key] = _line(key_node)
                    yield key, key_node, value_node

    def _count_node(self, node: Node) -> None:
        self.count += 1
        if self.count > self._max_nodes:
            raise YamlReadError(
                _line(node), f"more than {self._max_nodes:,} values, counted after aliases are expanded"
            )

    def _check_not_open(self, node: Node) -> None:
        if id(node) in self._open_nodes:
            raise YamlReadError(_line(node), f"the alias '*{node.anchor}' contains itself")


def _line(node: Node) -> int:
    line: int = node.start_mark.line + 1
    return line


def _too_deep(line: int) -> YamlReadError:
    return YamlReadError(line, f"nested more than {MAX_DEPTH} levels deep")


def _merged_mappings(node: Node) -> list[Node]:
    nodes = node.value if isinstance(node, SequenceNode) else [node]
    for mapping in nodes:
        if not isinstance(mapping, MappingNode):
            raise YamlReadError(_line(mapping), "'<<' takes a mapping or a list of mappings")
    return list(nodes)


def _convert_key(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        raise YamlReadError(_line(node), "a key must be a string, not a list or a mapping")
    _check_tag(node, "str")
    return _text(node)


def _convert_scalar(node: ScalarNode) -> Any:
    text = _text(node)
    if node.ctag is _UNTAGGED:
        return _resolve_plain(text) if node.style is None else text
    type_name = _check_tag(node, *_SCALAR_TYPES)
    value = text if type_name == "str" else _resolve_plain(text)
    if isinstance(value, WrittenFloat):
        value = float(value)
    if type(value) not in _SCALAR_TYPES[type_name]:
        raise YamlReadError(_line(node), f"{format_value(text)} is not a valid value for its tag '!!{type_name}'")
    return value


def _text(node: ScalarNode) -> str:
    text: str = node.value
    try:
        text.encode()
    except UnicodeEncodeError:
        raise YamlReadError(_line(node), f"{format_value(text)} contains an unpaired surrogate") from None
    return text


def _check_tag(node: Node, *allowed: str) -> str:
    """Return the name of the node's tag, such as `int`; raise YamlReadError if the tag is not allowed."""
    if node.ctag is _UNTAGGED:
        return allowed[0]
    tag = str(node.ctag)
    if tag in [_TAG_PREFIX + name for name in allowed]:
        return tag.removeprefix(_TAG_PREFIX)
    short_tag = f"!!{tag.removeprefix(_TAG_PREFIX)}" if tag.startswith(_TAG_PREFIX) else tag
    raise YamlReadError(_line(node), f"the tag {format_value(short_tag)} is not allowed: only plain data are read")


def _resolve_plain(text: str) -> Any:
    """Return the value of an unquoted scalar by the core schema."""
    if text in _WORDS_OF_SCHEMA:
        return _WORDS_OF_SCHEMA[text]
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0)
    if _WRITTEN.fullmatch(text):
        number = WrittenFloat(text)
        number.text = text
        return number
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _INFINITY.fullmatch(text):
        return -math.inf if match[1] == "-" else math.inf
    return math.nan if _NOT_A_NUMBER.fullmatch(text) else text
