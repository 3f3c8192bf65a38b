"""Output of kafka-streams-groups.sh --describe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.groups import (
    StreamsTasks,
    parse_streams_members,
)
from scenarios.kafka.formats.lines import FormatError

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


HEAD = "GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "",
            None,
            "no header line (GROUP …); expected the output of kafka-streams-groups.sh --describe --members --verbose",
        ),
        ("shop m p c\n", 1, "'shop m p c' before the header line (GROUP …)"),
        (
            "GROUP COORDINATOR (ID) STATE #MEMBERS\n",
            1,
            "no column MEMBER; expected the output of",
        ),
        (HEAD + "shop m\n", 2, "'shop m' does not match the 5 columns of the header"),
        (
            HEAD + "shop m p c ACTIVE: 0:[0,1]; STANDBY: 0:[2\n",
            2,
            "ASSIGNMENTS: 'ACTIVE: 0:[0,1]; STANDBY: 0:[2' is not a list of tasks",
        ),
        (
            "\nError: Streams group 'shop' has no active members.\n",
            2,
            "the tool reported 'Error: Streams group 'shop' has no active members.'",
        ),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_streams_members(text)
    assert raised.value.line == line
