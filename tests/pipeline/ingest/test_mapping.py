"""Built-in mappings and mapping files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import IngestError
from pipeline.ingest.mapping import BUILT_IN, SourceMapping, find_mapping

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_mapping_is_selected_by_name(name: str) -> None:
    assert find_mapping(name).mapping is BUILT_IN[name]


def test_optional_columns_may_be_missing() -> None:
    plain = BUILT_IN["plain"]
    assert plain.required == ("timestamp", "topic", "partition", "bytes_in_total", "messages_in_total")
    assert plain.optional == ("received", "broker")


def test_labels_column_replaces_key_columns() -> None:
    mapping = SourceMapping(labels="labels", broker="instance", bytes="b", received="got")
    assert mapping.required == ("timestamp", "labels", "b")
    assert mapping.optional == ("got",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes: b\n", False),
        ("bytes: b\npartition: null\n", True),
        ("name: n\nvalue: v\nmetrics: {m: {measures: bytes}}\n", False),
        ("name: n\nvalue: v\nmetrics: {m: {measures: bytes}, k: {measures: messages, per: topic}}\n", True),
        ("name: n\nvalue: v\nmetrics: {m: {measures: bytes}, k: {measures: size, per: topic}}\n", False),
    ],
)
def test_mapping_measures_topics_if_a_row_can(tmp_path: Path, text: str, expected: bool) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert find_mapping(str(file)).mapping.measures_topics == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bytes: b\ntopics: t\n", "2: topics: Extra inputs are not permitted"),
        ("time: t\n", "1: no measured value"),
        ("\nname: n\nvalue: v\n", "2: a long source needs name, value and metrics"),
        ("name: n\nvalue: v\nbytes: b\nmetrics: {m: {measures: bytes}}\n", "1: bytes and messages are columns of"),
        (
            "name: n\nvalue: v\nmetrics:\n  m: {measures: bytes, seconds: 60}\n",
            "4: metrics.m: seconds is the time that",
        ),
        (
            "name: n\nvalue: v\nmetrics: {m: {measures: bytes, kind: rate, seconds: .inf}}\n",
            "3: metrics.m.seconds: Inp",
        ),
        ("name: n\nvalue: v\nmetrics: {m: {measures: lags}}\n", "3: metrics.m.measures: Input should be 'bytes'"),
        ("name: n\nvalue: v\nmetrics: {m: {measures: lag}}\n", "1: a metric that measures lag needs group"),
        ("name: n\nvalue: v\nmetrics: {m: {measures: bytes_out}}\n", "3: metrics.m: brokers count bytes out by topic"),
        ("bytes: b\ngroup: g\n", "1: group and qualifier are of a long source"),
        ("bytes: [\n", "2: not YAML"),
        ("", "1: the file is empty"),
    ],
)
def test_invalid_mapping_file_is_rejected_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(IngestError) as caught:
        find_mapping(str(file))
    assert str(caught.value).startswith(f"{file}:{message}")


def test_unknown_mapping_is_rejected_with_known_names() -> None:
    with pytest.raises(
        IngestError,
        match=r"no such file or built-in mapping \(mappings: plain, plain-rates, jmx-exporter, .*, confluent-cloud\)",
    ):
        find_mapping("prometheus")
