"""YAML is read as plain data with line numbers, in limited time."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scenarios.language.yaml_reader import MAX_BYTES, MAX_DEPTH, MAX_NODES, WrittenFloat, YamlReadError, read_yaml


@pytest.mark.parametrize(
    "word", ["no", "yes", "on", "off", "y", "n", "10:00", "2024-01-01", "0b1", "1_000", "=", "<", "012:30"]
)
def test_yaml_1_1_keywords_stay_text(word: str) -> None:
    assert read_yaml(f"rack: {word}").value == {"rack": word}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("-12", -12),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("! 12", 12),
        ("!!int '12'", 12),
        ("!!float 3", 3),
        ("!!bool true", True),
        ("!!null ''", None),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">\n  a\n  b\n", "a b\n"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    read = read_yaml(f"x: {text}").value["x"]
    assert read == value
    assert type(read) is type(value) or (isinstance(read, WrittenFloat) and read.text == text)


def test_version_directive_is_ignored() -> None:
    assert read_yaml("%YAML 1.1\n---\nrack: no\n").value == {"rack": "no"}


def test_keys_are_strings() -> None:
    assert read_yaml("{no: 1, 2: 3, true: 4, null: 5}").value == {"no": 1, "2": 3, "true": 4, "null": 5}


_TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"], exclude_characters=["\x7f"]), max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda values: st.lists(values, max_size=4) | st.dictionaries(_TEXT, values, max_size=4),
    max_leaves=12,
)


@given(document=st.dictionaries(st.sampled_from(["a", "b", "<<", "4.10", ""]), _JSON))
@example(document={"kafka": 4.1, "deep": {"list": [1e400, -0.0, 10**120, 1e-7]}})
def test_json_on_one_line_is_read_as_any_other_yaml(document: dict[str, object]) -> None:
    line = json.dumps(document)
    expected, read = read_yaml(f"{line}\n"), read_yaml(line)
    assert repr(read.value) == repr(expected.value)
    assert read.lines == expected.lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1, "a": 2}', "duplicate key"),
        (f'{{"a": {"[" * (MAX_DEPTH + 1)}{"]" * (MAX_DEPTH + 1)}}}', "levels deep"),
        (f'{{"a": {"[" * 2_000}{"]" * 2_000}}}', "levels deep"),
        (f'{{"a": [{"1, " * MAX_NODES}1]}}', "values"),
        ('{"a": "\\ud800"}', "unpaired surrogate"),
        ('{"a": 1}}', "not YAML"),
    ],
)
def test_mistakes_of_json_on_one_line_are_those_of_yaml(line: str, message: str) -> None:
    with pytest.raises(YamlReadError, match=message) as of_line:
        read_yaml(line)
    with pytest.raises(YamlReadError) as of_text:
        read_yaml(f"{line}\n")
    assert str(of_line.value) == str(of_text.value)


def test_every_path_has_its_line() -> None:
    tree = read_yaml("a:\n  - b: 1\n    c:\n      2\n  -\n    d: &x {e: 3}\nf: *x\n")
    assert tree.lines == {
        (): 1,
        ("a",): 1,
        ("a", 0): 2,
        ("a", 0, "b"): 2,
        ("a", 0, "c"): 3,
        ("a", 1): 6,
        ("a", 1, "d"): 6,
        ("a", 1, "d", "e"): 6,
        ("f",): 7,
        ("f", "e"): 6,
    }


@pytest.mark.parametrize("char", ["\r", "\r\r", "\x85", "\u2028"])
def test_lines_end_with_line_feeds_only_as_in_editors(char: str) -> None:
    text = f"a: 1{char}\nb:\r\n- x\n# {char}\nc: {{d: 1}}\n"
    assert read_yaml(text).lines == {(): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("c",): 5, ("c", "d"): 5}
    for mistake in ("e: !x 1", "e: [1", 'e: "\\q"', "c: 2", "%"):
        with pytest.raises(YamlReadError) as error:
            read_yaml(text + mistake)
        assert error.value.line == 6, mistake


def test_aliases_are_expanded_to_separate_values() -> None:
    value = read_yaml("a: &x {b: [1]}\nc: *x\n").value
    assert value == {"a": {"b": [1]}, "c": {"b": [1]}}
    assert value["a"] is not value["c"]
    assert value["a"]["b"] is not value["c"]["b"]


def test_merge_keys_merge_and_own_keys_win() -> None:
    text = (
        "base: &b {threads: 2, rack: az1}\nmore: &m {<<: *b, tags: {}}\nclient: {rack: az2, <<: [*m, {threads: 9}]}\n"
    )
    assert read_yaml(text).value["client"] == {"rack": "az2", "threads": 2, "tags": {}}


def test_quoted_merge_key_is_an_ordinary_key() -> None:
    assert read_yaml('{"<<": 1}').value == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "a: 1\nb: !!python/object/apply:os.system [ls]\n",
            2,
            "the tag '!!python/object/apply:os.system' is not allowed",
        ),
        ("a: !!python/name:os.system\n", 1, "the tag '!!python/name:os.system' is not allowed"),
        ("a: 1\n\nb: !include other.yaml\n", 3, "the tag '!include' is not allowed"),
        ("a: !<tag:example.com,2000:x> 1\n", 1, "the tag 'tag:example.com,2000:x' is not allowed"),
        ("a: !!binary aGk=\n", 1, "the tag '!!binary' is not allowed"),
        ("a: !!set {b}\n", 1, "the tag '!!set' is not allowed"),
        ("a: !!timestamp 2024-01-01\n", 1, "the tag '!!timestamp' is not allowed"),
        ("!!python/object:x.Y {a: 1}", 1, "the tag '!!python/object:x.Y' is not allowed"),
        ("!evil a: 1", 1, "the tag '!evil' is not allowed"),
        ("a: !!int x", 1, "'x' is not a valid value for its tag '!!int'"),
        ("a: !!int true", 1, "'true' is not a valid value for its tag '!!int'"),
        ("a: 1\nb: 2\na: 3\n", 3, "duplicate key 'a' in this mapping (first in line 1)"),
        ("a: {b: 1, b: 2}\n", 1, "duplicate key 'b' in this mapping"),
        ("? [a]\n: 1\n", 1, "a key must be a string, not a list or a mapping"),
        ("? {a: 1}\n: 1\n", 1, "a key must be a string, not a list or a mapping"),
        (
            "a: 1\ncluster: *x\n",
            2,
            "not YAML: the alias *x has no anchor &x before it; put a text that begins with * in quotes",
        ),
        ("a: 1\ncluster: @x\n", 2, "not YAML: a value cannot begin with @; put it in quotes"),
        ("a: `x`\n", 1, "not YAML: a value cannot begin with `; put it in quotes"),
        ("a: 1\nb: ,\n", 2, "not YAML: a value cannot begin with ,; put it in quotes"),
        ("a: *\n", 1, "not YAML: a value cannot begin with * or & without a name; put it in quotes"),
        ("a: !<\n", 1, "not YAML: a value that begins with ! is a tag; put a text in quotes"),
        ("a: !e!x 1\n", 1, "not YAML: a value that begins with ! is a tag; put a text in quotes"),
        ("a: | b\n", 1, "not YAML: text follows | or > in the same line; write it in the next lines, or in quotes"),
        ("a: - b\n", 1, "not YAML: '- ' is not expected here; begin a line with it, or write [a, b]"),
        ("a: ? b\n", 1, "not YAML: '? ' is not expected here; put the text in quotes"),
        (
            'a: "C:\\qa"\n',
            1,
            "not YAML: unknown escape sequence in a text in double quotes; write \\\\ for a backslash, ",
        ),
        ("%x\na: 1\n", 2, "not YAML: a line that begins with % is a directive; put a text in quotes"),
        ("a: &x [1, *x]\n", 1, "the alias '*x' contains itself"),
        ("a: 1\n<<: 3\n", 2, "'<<' takes a mapping or a list of mappings"),
        ("a: 1\n---\nb: 1\n", 2, "not YAML: a second document begins; write one document per file"),
        ("", 1, "the file is empty; a scenario is a mapping with cluster, application and clients"),
        ("# nothing\n", 1, "the file is empty"),
        ("a:\n\tb: 1\n", 2, "not YAML: a tab before a key; YAML indents by spaces only"),
        (
            "a: [1, 2\nb: 3\n",
            2,
            "not YAML: no comma or closing bracket follows an entry of the '[' that begins in line 1",
        ),
        ("a: 'x\n", 2, "not YAML: the quoted text that begins in line 1 has no closing quote"),
        (
            "a: b: c\n",
            1,
            "not YAML: ': ' is not expected here; put a value with ': ' in quotes, or correct the indentation",
        ),
        (
            "a:\n  b: 1\n   c: 2\n",
            3,
            "not YAML: ': ' is not expected here; put a value with ': ' in quotes, or correct",
        ),
        ("a:\n  b: {}\n   c: 2\n", 3, "indented unlike the other entries of the list or mapping that begins in line 2"),
        ("a: 1\nb:\n- {}\n - 2\n", 4, "not YAML: indented unlike the other entries"),
        ("a: 1\nb: \x07\n", 2, "not YAML: unacceptable character #x0007"),
        ('a: "\\ud800"', 1, "'\\ud800' contains an unpaired surrogate"),
        ('a: 1\nb: "\\UFFFFFFFF"', 2, "not YAML: invalid escape sequence or directive"),
        ("[" * 1000, 1, f"nested more than {MAX_DEPTH} levels deep"),
        ("- " * 1000, 1, f"nested more than {MAX_DEPTH} levels deep"),
        ("{a: " * 1000, 1, f"nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_unsupported_yaml_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(YamlReadError, match=re.escape(message)) as raised:
        read_yaml(text)
    assert raised.value.line == line


def test_nesting_through_aliases_is_limited() -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, MAX_DEPTH + 2))
    with pytest.raises(YamlReadError, match="nested more than"):
        read_yaml(text)


def _alias_bomb(width: int, entry: str, wrap: tuple[str, str]) -> str:
    levels = "".join(f"a{i}: &a{i} {wrap[0]}{', '.join([f'*a{i - 1}'] * width)}{wrap[1]}\n" for i in range(1, 12))
    return f"a0: &a0 {entry}\n{levels}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_alias_bomb(10, "[x, x, x]", ("[", "]")), id="a billion laughs"),
        pytest.param(_alias_bomb(10, "{k: v}", ("{<<: [", "]}")), id="a billion merges"),
    ],
)
def test_too_many_values_are_rejected(text: str) -> None:
    with pytest.raises(YamlReadError, match=f"more than {MAX_NODES:,} values, counted after aliases are expanded"):
        read_yaml(text)


def test_values_are_counted_up_to_the_limit() -> None:
    text = "x: [" + "1," * 97 + "]"
    assert len(read_yaml(text, max_nodes=99).value["x"]) == 97
    with pytest.raises(YamlReadError, match="more than 98 values"):
        read_yaml(text, max_nodes=98)


def test_long_text_is_rejected_with_advice() -> None:
    with pytest.raises(
        YamlReadError, match=f"longer than the maximum of {MAX_BYTES:,} bytes.*name that file under cluster.from.topics"
    ):
        read_yaml("a: 1 # " + "x" * 10_000_000)


def test_text_near_the_maximum_length_is_read() -> None:
    text = "x: " + "a " * 190_000
    assert MAX_BYTES * 0.9 < len(text) <= MAX_BYTES
    assert read_yaml(text).value is not None
