"""YAML text to plain data that knows its lines.

Only the parser of ruamel.yaml is used. Its events become dicts, lists, texts, numbers, true, false and nothing by the
core schema of YAML 1.2 (so `no`, `on` and `10:00` stay texts), and a tag can never construct anything else. Keys are
always texts. Limits keep a hostile or accidental file from taking long: see `MAX_BYTES` and the constants below it.

Source: YAML 1.2.2, sections 10.2 and 10.3 (tag resolution); merge keys as in https://yaml.org/type/merge.html.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from scenarios.language.errors import format_value
from scenarios.language.paths import ScenarioPath

MAX_BYTES = 400_000
"""The largest file; ordinary YAML of this size takes 1 to 2 s to read, the slowest that was found 4 s."""

MAX_NODES = 60_000
"""The most values in a file, counted after aliases are written out; stops alias bombs."""

MAX_DEPTH = 40
"""The deepest nesting; a scenario needs about eight levels."""

TOO_LONG_MESSAGE = (
    f"longer than {MAX_BYTES:,} bytes, the most that is read; keep long lists of topics as kafka-topics.sh --describe "
    "prints them, and name that file under cluster.from.topics"
)

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,100}")
_OCTAL = re.compile(r"0o[0-7]{1,100}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,100}|[0-9]{1,100}(\.[0-9]{0,100})?)([eE][-+]?[0-9]{1,5})?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.(nan|NaN|NAN)")


class YamlReadError(ValueError):
    """Text that is not the YAML of a scenario; `line` counts from 1, None if no line is to blame."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class LocatedYaml:
    """What a YAML document says, and in which line it says it.

    Attributes:
        value: dicts, lists and scalars; no two places share one.
        lines: the line, from 1, of every place.
    """

    value: Any
    lines: dict[ScenarioPath, int]


@dataclass(slots=True)
class _Node:
    """A value before aliases are written out; children of a mapping alternate between key and value."""

    event: Event
    line: int
    children: list[_Node] = field(default_factory=list)
    is_open: bool = True


def read_yaml(text: str) -> LocatedYaml:
    """Read one YAML document.

    Raises:
        ReadError: the text is not YAML, is more than one document or none, breaks a limit, has a tag that is more than
            a plain type, a duplicate key, a key that is not a text, or an alias that contains itself.
    """
    if len(text) > MAX_BYTES:
        raise YamlReadError(None, TOO_LONG_MESSAGE)
    root = _compose(text)
    reading = _Reading()
    return LocatedYaml(reading.convert(root, (), root.line), reading.lines)


def read_yaml_value(text: str) -> Any:
    """Read a value as it stands behind a key, such as `3`, `az1` or `[az1, az2]`; an empty text is nothing.

    Raises:
        ReadError: as in `read`.
    """
    return read_yaml(text).value if text.strip() else None


def _events(text: str) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise YamlReadError(None if mark is None else mark.line + 1, f"not YAML: {problem}") from None
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise YamlReadError(line, f"not YAML: {str(error).splitlines()[0]}") from None
    except YamlReadError:
        raise
    except Exception as error:
        # The parser trips over some malformed escapes and directives with errors of Python's own.
        raise YamlReadError(None, f"not YAML: {type(error).__name__}: {error}") from None


def _compose(text: str) -> _Node:
    anchors: dict[str, _Node] = {}
    stack: list[_Node] = []
    root: _Node | None = None
    count = 0
    for event in _events(text):
        line = event.start_mark.line + 1
        if isinstance(event, DocumentStartEvent) and root is not None:
            raise YamlReadError(line, "a second document begins; a scenario is one document")
        if isinstance(event, (SequenceEndEvent, MappingEndEvent)):
            stack.pop().is_open = False
            continue
        if isinstance(event, AliasEvent):
            node = _aliased(anchors, event, line)
        elif isinstance(event, (ScalarEvent, SequenceStartEvent, MappingStartEvent)):
            node = _Node(event, line, is_open=not isinstance(event, ScalarEvent))
            if event.anchor:
                anchors[event.anchor] = node
        else:
            continue
        count += 1
        if count > MAX_NODES:
            raise _too_many(line)
        if stack:
            stack[-1].children.append(node)
        else:
            root = node
        if node.is_open:
            stack.append(node)
        if len(stack) > MAX_DEPTH:
            raise YamlReadError(line, f"nested more than {MAX_DEPTH} levels deep")
    if root is None:
        raise YamlReadError(None, "the file is empty; a scenario is a mapping with cluster, application and clients")
    return root


def _aliased(anchors: dict[str, _Node], event: AliasEvent, line: int) -> _Node:
    node = anchors.get(event.anchor)
    if node is None:
        raise YamlReadError(line, f"no anchor '&{event.anchor}' stands above the alias '*{event.anchor}'")
    if node.is_open:
        raise YamlReadError(line, f"'*{event.anchor}' contains itself")
    return node


def _too_many(line: int) -> YamlReadError:
    return YamlReadError(line, f"more than {MAX_NODES:,} values, counted after aliases are written out")


class _Reading:
    """Turns nodes into data, writing aliases out, and notes the line of every place."""

    def __init__(self) -> None:
        self.lines: dict[ScenarioPath, int] = {}
        self._count = 0

    def convert(self, node: _Node, path: ScenarioPath, line: int) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            raise _too_many(node.line)
        if len(path) > MAX_DEPTH:
            raise YamlReadError(node.line, f"nested more than {MAX_DEPTH} levels deep")
        self.lines[path] = line
        match node.event:
            case MappingStartEvent():
                _check_tag(node, "map")
                return self._convert_mapping(node, path)
            case SequenceStartEvent():
                _check_tag(node, "seq")
                return [self.convert(child, (*path, i), child.line) for i, child in enumerate(node.children)]
            case _:
                return _scalar(node)

    def _convert_mapping(self, node: _Node, path: ScenarioPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, key_node, value_node in self._pairs(node, len(path)):
            result[key] = self.convert(value_node, (*path, key), key_node.line)
        return result

    def _pairs(self, node: _Node, depth: int) -> Iterator[tuple[str, _Node, _Node]]:
        """The entries of a mapping, its own before those that `<<` merges into it; what comes first wins."""
        if depth > MAX_DEPTH:
            raise YamlReadError(node.line, f"nested more than {MAX_DEPTH} levels deep")
        lines: dict[str, int] = {}
        merged: list[_Node] = []
        for key_node, value_node in zip(node.children[::2], node.children[1::2], strict=True):
            key = _key(key_node)
            if key == "<<" and _is_plain(key_node):
                merged.extend(_merged(value_node))
            elif key in lines:
                first = f"first in line {lines[key]}"
                raise YamlReadError(
                    key_node.line, f"the key {format_value(key)} stands twice in this mapping ({first})"
                )
            else:
                lines[key] = key_node.line
                yield key, key_node, value_node
        for other in merged:
            for key, key_node, value_node in self._pairs(other, depth + 1):
                self._count += 1
                if self._count > MAX_NODES:
                    raise _too_many(node.line)
                if key not in lines:
                    lines[key] = key_node.line
                    yield key, key_node, value_node


def _is_plain(node: _Node) -> bool:
    return isinstance(node.event, ScalarEvent) and node.event.style is None


def _merged(node: _Node) -> list[_Node]:
    nodes = node.children if isinstance(node.event, SequenceStartEvent) else [node]
    for one in nodes:
        if not isinstance(one.event, MappingStartEvent):
            raise YamlReadError(one.line, "'<<' takes a mapping or a list of mappings")
    return nodes


def _key(node: _Node) -> str:
    if not isinstance(node.event, ScalarEvent):
        raise YamlReadError(node.line, "a key is a text, not a list or a mapping")
    _check_tag(node, "str")
    return _text(node)


def _text(node: _Node) -> str:
    value: str = getattr(node.event, "value", "")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise YamlReadError(node.line, f"{format_value(value)} is not text: it has half a surrogate pair") from None
    return value


def _tag(node: _Node) -> str | None:
    tag: str | None = getattr(node.event, "tag", None)
    return tag


def _check_tag(node: _Node, *allowed: str) -> None:
    tag = _tag(node)
    if tag is None or tag == "!" or tag in [_TAG + name for name in allowed]:
        return
    written = f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
    raise YamlReadError(node.line, f"the tag {format_value(written)} is not allowed here: a scenario is plain data")


def _scalar(node: _Node) -> Any:
    _check_tag(node, "str", "int", "float", "bool", "null")
    text = _text(node)
    tag = _tag(node)
    if tag is None:
        return _resolve(text) if _is_plain(node) else text
    if tag in ("!", _TAG + "str"):
        return text
    value = _resolve(text)
    name = tag.removeprefix(_TAG)
    if type(value) in {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}[name]:
        return value
    raise YamlReadError(node.line, f"{format_value(text)} is not what its tag '!!{name}' says")


def _resolve(text: str) -> Any:
    """Tell what a plain scalar means, by the core schema."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if found := _INFINITE.fullmatch(text):
        return -math.inf if found[1] == "-" else math.inf
    return math.nan if _NOT_A_NUMBER.fullmatch(text) else text
