"""Topic patterns: the regular expressions of Java with which an application subscribes to topics.

Supported are characters, `.`, classes such as `[a-z]` and `\\d`, quotes (`\\Q…\\E`), groups, alternatives and
quantifiers. Not supported are quantified groups other than `(…)?`, and patterns whose matching may take long.

Source: `InternalTopologyBuilder.SourceNodeFactory.isMatch` (the whole name matches); `exclude.internal.topics` of the
consumer; `org.apache.kafka.common.internals.Topic`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from scenarios.kafka.formats.lines import FormatError

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
