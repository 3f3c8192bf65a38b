"""The descriptions of the built-in assignors."""

from __future__ import annotations

from assignors.built_in_assignors import BUILT_IN


def test_names_and_aliases_are_unique() -> None:
    names = [name for info in BUILT_IN for name in (info.name, *info.aliases)]
    assert len(names) == len(set(names))


def test_reimplemented_assignors_name_their_kafka_class_and_version() -> None:
    for info in BUILT_IN:
        assert info.summary
        assert bool(info.kafka_version) == bool(info.kafka_class)
