"""Built-in mappings and mapping files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.ingest.errors import IngestError
from pipeline.ingest.mapping import BUILT_IN, SourceMapping, find_mapping


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
    ("text", "message"),
    [
        ("bytes: b\ntopics: t\n", "2: topics: Extra inputs are not permitted"),
        ("time: t\n", "1: no measured value"),
        ("\nname: n\nvalue: v\n", "2: a long source needs name, value and metrics"),
        ("name: n\nvalue: v\nbytes: b\nmetrics: {m: {measures: bytes}}\n", "1: bytes and messages are columns of"),
        ("name: n\nvalue: v\nmetrics: {m: {measures: lag}}\n", "3: metrics.m.measures: Input should be 'bytes'"),
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
        match=r"no such file or built-in mapping \(mappings: plain, plain-rates, jmx-exporter, cruise-control\)",
    ):
        find_mapping("prometheus")
