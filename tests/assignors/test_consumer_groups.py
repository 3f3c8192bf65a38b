"""Assignors of consumer groups by name, class and release."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assignors.consumer_groups import consumer_assignor_names, find_consumer_assignor
from assignors.consumer_tasks import ConsumerTasks
from assignors.errors import UnknownAssignorError


def made(
    name: str, clients: str = "4.3", brokers: str = "4.4", strategies: Sequence[str] | None = None
) -> ConsumerTasks:
    assignor = find_consumer_assignor(name, "billing", clients, brokers, strategies=strategies).make()
    assert isinstance(assignor, ConsumerTasks)
    return assignor


def test_every_assignor_has_the_protocol_of_its_side() -> None:
    names = consumer_assignor_names()
    assert names == ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "broker-range")
    assert [name for name in names if made(name).is_eager] == ["range", "roundrobin", "sticky"]
    assert [name for name in names if made(name).by_coordinator] == ["uniform", "broker-range"]
    assert made("cooperative-sticky", strategies=["cooperative-sticky", "range"]).is_eager


def test_only_eager_members_that_keep_no_record_forget_what_they_owned() -> None:
    assert [name for name in consumer_assignor_names() if made(name).forgets] == []
    assert made("cooperative-sticky", strategies=["cooperative-sticky", "range"]).forgets
    assert not made("sticky").forgets  # Its members send their last assignment as user data.


def test_classes_are_names_and_those_of_both_sides_differ_by_package() -> None:
    assert find_consumer_assignor("StickyAssignor", "g", "4.3", "4.4").name == "sticky"
    assert find_consumer_assignor("RangeAssignor", "g", "4.3", "4.4").name == "range"
    broker = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
    assert find_consumer_assignor(broker, "g", "4.3", "4.4").qualified_class == broker


def test_release_is_that_of_the_side_that_assigns() -> None:
    assert find_consumer_assignor("uniform", "g", "4.3", "4.1.2").release == "4.1"
    assert find_consumer_assignor("range", "g", "3.9.1", "4.4").release == "3.9"
    assert find_consumer_assignor("range", "g", "4.4", "4.4").release == "4.4"


def test_unknown_names_and_releases_are_rejected() -> None:
    with pytest.raises(UnknownAssignorError, match=r"did you mean 'uniform'\?"):
        find_consumer_assignor("unifrom", "g", "4.3", "4.4")
    with pytest.raises(UnknownAssignorError, match="known: range, roundrobin"):
        find_consumer_assignor("high_availability", "g", "4.3", "4.4")
    with pytest.raises(UnknownAssignorError, match=r"unknown release '3\.9' of uniform"):
        find_consumer_assignor("uniform", "g", "4.3", "3.9")
