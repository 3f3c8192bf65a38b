"""Output of kafka-log-dirs.sh --describe."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.files import LOG_DIRS, detect_kind
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topics import parse_partition_sizes

DIALECTS = Path(__file__).with_name("dialects")
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"


def test_partition_size_is_that_of_its_largest_complete_replica() -> None:
    sizes = parse_partition_sizes((DIALECTS / "log_dirs.txt").read_text())
    assert sizes == {
        TopicPartition("orders", 0): 700,
        TopicPartition("orders", 1): 40,
        TopicPartition("my-orders", 11): 5,
    }


def test_captured_output_is_read_completely() -> None:
    sizes = parse_partition_sizes((CAPTURED / "log_dirs.json.txt").read_text())
    assert len(sizes) == 584
    assert sum(size for partition, size in sizes.items() if partition.topic == "orders") > 1_000_000


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize(
    "path", [DIALECTS / "log_dirs.txt", CAPTURED / "log_dirs.json.txt"], ids=lambda path: path.name
)
def test_json_over_several_lines_is_read_like_a_single_line(path: Path, indent: int | str | None, newline: str) -> None:
    text = path.read_text()
    start = text.index("{")
    head, content = text[:start], json.loads(text[start:])
    printed = json.dumps(content, indent=indent, sort_keys=True) + "\n"
    for variant in (head + printed, printed):
        variant = variant.replace("\n", newline)
        assert parse_partition_sizes(variant) == parse_partition_sizes(text)
        assert detect_kind(variant) == LOG_DIRS


def test_an_error_in_json_over_several_lines_has_its_line() -> None:
    with pytest.raises(FormatError, match=r"^invalid JSON: ") as raised:
        parse_partition_sizes('text\n{\n  "version": 1,\n  "brokers": [7,]\n}\n')
    assert raised.value.line == 4


def _json(partition: str) -> str:
    return f'text\n{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":[{partition}]}}]}}]}}\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no line starts with a brace; expected the output of kafka-log-dirs.sh --describe"),
        ("Querying brokers\n{not json\n", 2, "invalid JSON: "),
        ("\n\n" + '{"a":' * 100_000 + "\n", 3, "invalid JSON: "),
        ('{"version": 1}\n', 1, "not the JSON of kafka-log-dirs.sh --describe: 'brokers' is missing"),
        (
            _json('{"partition":"orders"}'),
            2,
            "not the JSON of kafka-log-dirs.sh --describe: 'size' is missing",
        ),
        (
            _json('{"partition":"orders","size":1}'),
            2,
            "not the JSON of kafka-log-dirs.sh --describe: 'orders' is",
        ),
        (
            _json('{"partition":"orders-1","size":-1}'),
            2,
            "not the JSON of kafka-log-dirs.sh --describe: size -1",
        ),
        (_json('{"partition":7,"size":1}'), 2, "not the JSON of kafka-log-dirs.sh --describe: "),
        (_json("7"), 2, "not the JSON of kafka-log-dirs.sh --describe: "),
        ('{"brokers": 7}\n', 1, "not the JSON of kafka-log-dirs.sh --describe: "),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_partition_sizes(text)
    assert raised.value.line == line
