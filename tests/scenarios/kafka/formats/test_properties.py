"""Java properties files."""

from __future__ import annotations

import re

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# a=b\n! c=d\n\n  \n", {}),
        ("a=b\nc : d\ne f\n g=h = i \n", {"a": "b", "c": "d", "e": "f", "g": "h = i "}),
        ("a\nb=\nc=\r\nd=1\re=2", {"a": "", "b": "", "c": "", "d": "1", "e": "2"}),
        ("a=1\na=2\n", {"a": "2"}),
        ("jaas=org.Plain required \\\n    user=x \\\n    word=y;\n", {"jaas": "org.Plain required user=x word=y;"}),
        ("path=C:\\\\kafka\nt=\\t\\u00fc\\:\nk\\=e\\ y=v", {"path": "C:\\kafka", "t": "\tü:", "k=e y": "v"}),
        ("a=b\\\n", {"a": "b"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=1 # no comment\nb=\\\n# nor this", {"a": "1 # no comment", "b": "# nor this"}),
    ],
)
def test_properties_are_parsed_as_by_java(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_line_without_a_key_is_rejected_without_its_value() -> None:
    with pytest.raises(FormatError, match="^" + re.escape("not a property (key=value)") + "$") as raised:
        parse_properties("a=b\n=hunter2\n")
    assert raised.value.line == 2
