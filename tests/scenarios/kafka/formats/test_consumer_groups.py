"""Output of kafka-consumer-groups.sh --describe in all releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.groups import GroupState, parse_group_members, parse_group_states
from scenarios.kafka.formats.lines import FormatError

DIALECTS = Path(__file__).with_name("dialects")

TITLES = "GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS  ASSIGNMENT\n"


def _members(name: str) -> dict[str, list[str]]:
    members = parse_group_members((DIALECTS / name).read_text())
    return {member.consumer_id: list(map(str, member.partitions)) for member in members}


def test_output_of_3_7_is_parsed() -> None:
    assert _members("groups_3_7.txt") == {
        "app-1-7c1f": ["orders-0", "orders-1", "returns-0"],
        "app-2-91aa": ["orders-2"],
        "app-3-0000": [],
    }


def test_current_assignment_of_4_0_is_used() -> None:
    assert _members("groups_4.txt") == {
        "app-1-7c1f": ["orders-0", "orders-1", "returns-0"],
        "app-2-91aa": ["orders-2"],
        "app-3-0000": [],
    }


def test_members_are_parsed_from_offsets() -> None:
    members = parse_group_members((DIALECTS / "groups_offsets.txt").read_text())
    assert [(member.group, member.client_id, member.line) for member in members] == [
        ("shop", "app-1", 3),
        ("shop", "app-2", 5),
    ]
    assert members[0].partitions == (TopicPartition("orders", 0), TopicPartition("orders", 1))


def test_hosts_and_instance_ids_are_parsed() -> None:
    members = parse_group_members((DIALECTS / "groups_3_7.txt").read_text())
    assert [(member.host, member.instance_id) for member in members] == [
        ("10.0.0.7", "one"),
        ("10.0.0.8", None),
        ("10.0.0.9", None),
    ]


def test_pasted_text_without_columns_is_parsed() -> None:
    text = TITLES + "shop c1 /10.0.0.7 app-1 2 orders(0,1)\nshop c2 /10.0.0.8 app-2 2 orders(2), returns(0)\n"
    assert [len(member.partitions) for member in parse_group_members(text)] == [2, 2]


def test_output_of_3_8_and_3_9_is_rejected_with_advice() -> None:
    with pytest.raises(FormatError, match=r"lacks topic names \(a defect of Kafka 3\.8 and 3\.9\); use the output of"):
        _members("groups_3_9.txt")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no header line"),
        ("hello\n", 1, "'hello' before the header line"),
        ("GROUP  TOPIC  PARTITION\n", 1, "no column CONSUMER-ID"),
        ("GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS\n", 1, "run the tool with --verbose"),
        (TITLES + "shop c1\n", 2, "'shop c1' does not match the 6 columns of the header"),
        (TITLES + "shop c1 /10.0.0.7 app-1 1 orders\n", 2, "ASSIGNMENT: 'orders' is not a topic with partitions"),
        (
            "GROUP TOPIC PARTITION CONSUMER-ID HOST CLIENT-ID\ng t x c h i\n",
            2,
            "PARTITION: 'x' is not a partition number",
        ),
    ],
)
def test_malformed_text_is_rejected(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        parse_group_members(text)
    assert raised.value.line == line
    assert message in str(raised.value)


STATES = """
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
shop            localhost:9092  (0)       range                Stable               4

Consumer group 'old' has no active members.

GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
old             localhost:9092  (0)       -                    Empty                -               -                         0
"""  # noqa: E501


def test_states_of_groups_with_and_without_epochs() -> None:
    assert parse_group_states(STATES) == (GroupState("shop", "range", "Stable"), GroupState("old", None, "Empty"))


@pytest.mark.parametrize("blanks", ["      ", " "])
def test_states_of_releases_that_print_blanks_for_no_assignor(blanks: str) -> None:
    text = STATES.replace("(0)       -     ", f"(0)       {blanks}")
    assert parse_group_states(text)[1] == GroupState("old", None, "Empty")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "no header line (GROUP COORDINATOR …); expected the output of kafka-consumer-groups.sh --describe --state",
        ),
        (
            STATES.replace("range   ", "two words"),
            "'shop            localhost:9092  (0)       two words         ' is not a row of "
            "kafka-consumer-groups.sh --describe --state",
        ),
        (
            STATES.replace("ASSIGNMENT-STRATEGY", "STRATEGY           "),
            "no column ASSIGNMENT-STRATEGY; expected the output of kafka-consumer-groups.sh --describe --state",
        ),
    ],
)
def test_malformed_states(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_group_states(text)
    assert str(caught.value) == message


def test_members_of_the_consumer_protocol_have_an_epoch() -> None:
    folder = Path(__file__).parents[1] / "dumps" / "consumer_groups"
    members = parse_group_members((folder / "members.txt").read_text())
    assert {member.group: member.has_epoch for member in members} == {"billing": False, "default": False, "audit": True}
