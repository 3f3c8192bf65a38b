"""A custom assignor of KIP-1357 in Java and in Python: a real broker loads it, and both give the same answers."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.tasks.group_spec_assignor import GroupSpecAssignor
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from tests.counts import few_or
from tests.real_kafka.rack_spread import RackSpread
from tests.real_kafka.streams_group import JAVA, predicted_target, topology
from tests.real_kafka.streams_members.member import StreamsMember, settle
from tests.real_kafka.streams_members.protocol import KAFKA_VERSION, ProtocolConnection
from tools.kafka_group_oracle.__main__ import compare
from tools.kafka_group_oracle.lives import answered_problems
from tools.kafka_group_oracle.oracle import CustomClass

pytestmark = pytest.mark.kafka

PYTHON = "tests.real_kafka.rack_spread:RackSpread"
GROUPS, ROUNDS = few_or(250, 50), 4
STEPS = few_or(25, 10)


def test_java_and_python_give_same_answers(custom_classes: Path) -> None:
    """On random groups, round by round: each answer is the previous assignment of the next round."""
    answered = list(answered_problems(KAFKA_VERSION, range(GROUPS), ROUNDS, CustomClass(JAVA, [custom_classes])))
    tally = compare(iter(answered), KAFKA_VERSION, registry.load(PYTHON), None)
    assert tally.compared == GROUPS * ROUNDS
    assert tally.identical()
    assert 0 < tally.refused < tally.compared / 10
    roles = Counter(role for problem, _ in answered for role in _roles(problem.expected or {}))
    assert min(roles["active"], roles["standby"]) > GROUPS


def _roles(answer: Mapping[str, Any]) -> set[str]:
    return {role for tasks in (answer["assignment"] or {}).values() for role, ids in tasks.items() if ids}


@pytest.mark.parametrize("name", ["rack_spread", "sticky"])
def test_broker_assigns_as_predicted(connection: ProtocolConnection, name: str) -> None:
    """A real group whose members join and leave at random, in racks, with one or two threads per process.

    With Kafka's own assignor as well: otherwise, a mistake in the group's description could fit the custom one.
    """
    rng = random.Random(7)
    connection.set_group_config(name, "streams.assignor.name", name)
    members = [new_member(connection, name, rng, [])]
    members[0].join()
    described = settle(members)
    assert described.assignor == name
    distinct = {str(described.target)}
    for _ in range(STEPS):
        members = joined_or_left(connection, name, rng, members)
        ids = {member.id for member in members}
        process_ids = {member: process for member, process in described.process_ids.items() if member in ids}
        process_ids |= {member.id: member.process_id for member in members if member.id not in process_ids}
        expected = predicted_target(assignor_of(name, process_ids), members)
        if members[-1].epoch == 0:
            members[-1].join()
        epoch = described.epoch
        described = settle(members, min_epoch=epoch + 1)
        assert described.epoch == epoch + 1
        assert described.target == expected
        distinct.add(str(described.target))
    assert len(distinct) > STEPS // 2


def assignor_of(name: str, process_ids: Mapping[str, str]) -> TaskAssignor:
    return (
        StreamsGroupSticky(members=process_ids)
        if name == "sticky"
        else GroupSpecAssignor(RackSpread(), members=process_ids)
    )


def new_member(
    connection: ProtocolConnection, group: str, rng: random.Random, members: Sequence[StreamsMember]
) -> StreamsMember:
    """Return a member that has not joined: the second thread of a process, or the first of a new one."""
    sizes = Counter(member.process_id for member in members)
    single = sorted(process for process, size in sizes.items() if size == 1)
    rack = rng.choice(("az1", "az2", None))
    if single and rng.random() < 0.4:
        process = rng.choice(single)
        rack = next(member.rack_id for member in members if member.process_id == process)
    else:
        process = str(uuid.UUID(int=rng.getrandbits(128)))
    member_id = str(uuid.UUID(int=rng.getrandbits(128)))
    return StreamsMember(connection, group, topology(group), member_id, process, rack_id=rack)


def joined_or_left(
    connection: ProtocolConnection, group: str, rng: random.Random, members: Sequence[StreamsMember]
) -> list[StreamsMember]:
    """Return the members after a random one has left, or with a new one, which has not joined."""
    if len(members) > 1 and rng.random() < min(0.6, len(members) / 10):
        leaving = rng.choice(members)
        leaving.leave()
        return [member for member in members if member is not leaving]
    return [*members, new_member(connection, group, rng, members)]
