"""Output of kafka-streams-groups.sh --describe."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.streams_groups import (
    StreamsGroupOffsets,
    StreamsGroupState,
    StreamsTasks,
    parse_streams_members,
    parse_streams_offsets,
    parse_streams_states,
)

DIALECTS = Path(__file__).with_name("dialects")
APP = "order-processing"
PROCESSES = ("8f3b2c1d-0a4e-4b6f-9c7d-1e2f3a4b5c6d", "11111111-2222-3333-4444-555555555555")
TASKS = (
    StreamsTasks(("0_0", "0_2", "1_1"), ("1_0",), ()),
    StreamsTasks(("0_10",), (), ("1_2",)),
    StreamsTasks(("0_1", "1_0", "1_2"), (), ()),
    StreamsTasks((), (), ()),
)


def _dialect(name: str) -> str:
    return (DIALECTS / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ["streams_members", "streams_members_verbose"])
def test_members_have_process_and_tasks_by_role(name: str) -> None:
    members = parse_streams_members(_dialect(name))
    assert [member.line for member in members] == [2, 3, 4, 5]
    assert {member.group for member in members} == {APP}
    assert [member.process_id for member in members] == [PROCESSES[0]] * 2 + [PROCESSES[1]] * 2
    assert members[1].member_id == "a1vYyq2dRkuHB2mpT3w7Wg"
    assert members[1].client_id == f"{APP}-{PROCESSES[0]}-StreamThread-2"
    assert tuple(member.tasks for member in members) == TASKS


def test_only_verbose_output_has_targets_and_protocols() -> None:
    plain = parse_streams_members(_dialect("streams_members"))
    assert {(member.target, member.is_classic) for member in plain} == {(None, None)}
    verbose = parse_streams_members(_dialect("streams_members_verbose"))
    assert [member.is_classic for member in verbose] == [False, False, False, True]
    assert tuple(member.target for member in verbose) == (*TASKS[:2], StreamsTasks(("0_1", "1_0"), (), ()), TASKS[3])


def test_group_state_is_parsed_with_and_without_epochs() -> None:
    assert parse_streams_states(_dialect("streams_state")) == (StreamsGroupState(2, APP, "Stable", 4),)
    assert parse_streams_states(_dialect("streams_state_verbose")) == (StreamsGroupState(2, APP, "Reconciling", 4),)


def test_offsets_require_verbose_but_lag_does_not() -> None:
    orders = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert parse_streams_offsets(_dialect("streams_offsets")) == (
        StreamsGroupOffsets(2, APP, orders[0], None, None, 10),
        StreamsGroupOffsets(3, APP, orders[1], None, None, 0),
    )
    assert parse_streams_offsets(_dialect("streams_offsets_verbose")) == (
        StreamsGroupOffsets(2, APP, orders[0], 100, 110, 10),
        StreamsGroupOffsets(3, APP, orders[1], None, 4, 4),
    )


HEAD = "GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS\n"


@pytest.mark.parametrize(
    ("parse", "text", "line", "message"),
    [
        (
            parse_streams_members,
            "",
            None,
            "no header line (GROUP …); expected the output of kafka-streams-groups.sh --describe --members --verbose",
        ),
        (parse_streams_members, "shop m p c\n", 1, "'shop m p c' before the header line (GROUP …)"),
        (
            parse_streams_members,
            "GROUP COORDINATOR (ID) STATE #MEMBERS\n",
            1,
            "no column MEMBER; expected the output of",
        ),
        (parse_streams_members, HEAD + "shop m\n", 2, "'shop m' does not match the 5 columns of the header"),
        (
            parse_streams_members,
            HEAD + "shop m p c ACTIVE: 0:[0,1]; STANDBY: 0:[2\n",
            2,
            "ASSIGNMENTS: 'ACTIVE: 0:[0,1]; STANDBY: 0:[2' is not a list of tasks",
        ),
        (
            parse_streams_members,
            "\nError: Streams group 'shop' has no active members.\n",
            2,
            "the tool reported 'Error: Streams group 'shop' has no active members.'",
        ),
        (parse_streams_states, "GROUP STATE #MEMBERS\nshop Stable many\n", 2, "#MEMBERS: 'many' is not a number"),
        (
            parse_streams_offsets,
            "GROUP TOPIC PARTITION OFFSET-LAG\nshop orders x 3\n",
            2,
            "PARTITION: 'x' is not a number",
        ),
    ],
)
def test_malformed_text_is_rejected_with_its_line(
    parse: Callable[[str], object], text: str, line: int | None, message: str
) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse(text)
    assert raised.value.line == line
