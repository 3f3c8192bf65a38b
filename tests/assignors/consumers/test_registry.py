"""Consumer assignors are found by Kafka's names and classes, by protocol and release."""

from __future__ import annotations

import pytest

from assignors.consumers import registry
from assignors.consumers.registry import ConsumerProtocol
from assignors.errors import UnknownAssignorError
from assignors.model.consumer_group import ConsumerAssignor


def test_names_are_those_of_kafka() -> None:
    names = [(info.name, str(info.protocol)) for info in registry.built_in()]
    assert names == [
        ("range", "classic"),
        ("roundrobin", "classic"),
        ("sticky", "classic"),
        ("cooperative-sticky", "classic"),
        ("uniform", "consumer"),
        ("range", "consumer"),
    ]


def test_every_assignor_and_release_can_be_made() -> None:
    for info in registry.built_in():
        for release in info.releases:
            assert isinstance(info.at(release).make(), ConsumerAssignor)
            assert registry.find(f"{info.name}@{release}", info.protocol) == info.at(release)


@pytest.mark.parametrize("protocol", list(ConsumerProtocol))
def test_protocol_distinguishes_two_assignors_with_one_name(protocol: ConsumerProtocol) -> None:
    assert registry.find("range", protocol).protocol is protocol
    assert registry.find("RangeAssignor", str(protocol)).protocol is protocol


def test_full_class_name_needs_no_protocol() -> None:
    for info in registry.built_in():
        assert registry.find(info.qualified_class) == info


def test_patches_belong_to_their_release() -> None:
    assert registry.find("uniform@4.0.0").release == "4.0.0"
    assert registry.find("uniform@4.0.2").release == "4.0"
    assert registry.find("sticky@3.9.1").kafka_version == "3.9"
    assert registry.find("sticky").kafka_version == "3.8 to 4.4"
    assert registry.find("uniform").kafka_version == "4.4"


@pytest.mark.parametrize(
    ("name", "protocol", "message"),
    [
        ("range", None, "two consumer assignors are named 'range': add the protocol, classic or consumer"),
        ("stiky", None, "unknown consumer assignor 'stiky' (did you mean 'sticky'?)"),
        ("zzz", "consumer", "unknown consumer assignor 'zzz' (known: uniform, range)"),
        ("uniform", "classic", "'uniform' is an assignor of the protocol consumer, not classic"),
        ("sticky@2.4", None, "unknown release '2.4' of sticky in protocol classic (known: 3.8, 3.9,"),
        ("sticky", "streams", "unknown group protocol 'streams' (known: classic, consumer)"),
        ("[bold]\n", None, "unknown consumer assignor '[bold]\n' (known: range, roundrobin,"),
    ],
)
def test_unknown_names_are_rejected_with_a_suggestion(name: str, protocol: str | None, message: str) -> None:
    with pytest.raises(UnknownAssignorError) as error:
        registry.find(name, protocol)
    assert str(error.value).startswith(message)
