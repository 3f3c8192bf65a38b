"""Mappings: what is built in, and what a file of one's own may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.ingest.errors import IngestError
from pipeline.ingest.mapping import BUILT_IN, SourceMapping, find_mapping


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_mappings_are_found_by_name(name: str) -> None:
    assert find_mapping(name).mapping is BUILT_IN[name]


def test_a_column_that_is_not_needed_may_be_missing() -> None:
    plain = BUILT_IN["plain"]
    assert plain.required == ("timestamp", "topic", "partition", "bytes_in_total", "messages_in_total")
    assert plain.optional == ("received", "broker")


def test_with_labels_their_column_is_needed_and_those_of_the_keys_are_not() -> None:
    mapping = SourceMapping(labels="labels", broker="instance", bytes="b", received="got")
    assert mapping.required == ("timestamp", "labels", "b")
    assert mapping.optional == ("got",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bytes: b\ntopics: t\n", "topics: Extra inputs are not permitted"),
        ("time: t\n", "no measured value"),
        ("name: n\nvalue: v\n", "a long source needs name, value and metrics"),
        ("name: n\nvalue: v\nbytes: b\nmetrics: {m: {measures: bytes}}\n", "bytes and messages are columns of a wide"),
        ("name: n\nvalue: v\nmetrics: {m: {measures: lag}}\n", "metrics.m.measures: Input should be 'bytes'"),
        ("bytes: [\n", ""),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(IngestError) as caught:
        find_mapping(str(file))
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


def test_neither_a_name_nor_a_file_is_refused_with_the_names() -> None:
    with pytest.raises(
        IngestError,
        match=r"no such file or built-in mapping \(mappings: plain, plain-rates, jmx-exporter, cruise-control\)",
    ):
        find_mapping("prometheus")
