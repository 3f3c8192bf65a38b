"""What `kafka-streams-groups.sh --describe` prints of groups of the streams protocol: members, state and offsets.

4.1, 4.2 and 4.3 print the same lines. With `--members` each member has its tasks, and with `--verbose` its epoch and
the tasks that it is to have (TARGET-…) as well. No release prints racks, tags, threads or the topology.

Source: `org.apache.kafka.tools.streams.StreamsGroupCommand` (`printMembers`, `printStates`, `printOffsets`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError, numbered_lines

_COMMAND = "kafka-streams-groups.sh --describe"
_COORDINATOR = "COORDINATOR (ID)"
_REMARK = re.compile(r"\s*Error: ")
_TASKS = re.compile(r"((?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): ((?:[^\s:]+:\[[\d,]*\];(?: |$))+)")
_PARTITIONS = re.compile(r"([^\s:]+):\[([\d,]*)\];")
_ROLES = ("ACTIVE", "STANDBY", "WARMUP")


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """Tasks as Kafka writes them, such as 0_3, in the order of the text."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamsGroupMember:
    """A member of a streams group, which is a stream thread.

    Attributes:
        line: where it stands.
        process_id: what its process is called; a UUID unless somebody chose otherwise.
        tasks: what it has.
        target: what it is to have; None without `--verbose`.
        is_classic: whether it is still a member by the classic protocol; None without `--verbose`.
    """

    line: int
    group: str
    member_id: str
    process_id: str
    client_id: str
    tasks: StreamsTasks
    target: StreamsTasks | None
    is_classic: bool | None


@dataclass(frozen=True, slots=True)
class StreamsGroupState:
    """What state a group is in, such as Stable, and how many members it has."""

    line: int
    group: str
    state: str
    members: int


@dataclass(frozen=True, slots=True)
class StreamsGroupOffsets:
    """A partition that a group reads; offsets are None where none is committed, or without `--verbose`."""

    line: int
    group: str
    partition: TopicPartition
    current_offset: int | None
    end_offset: int | None
    lag: int


def parse_streams_members(text: str) -> tuple[StreamsGroupMember, ...]:
    """Read what `--members` prints, in the order of the text.

    Raises:
        FormatError: this is not what the tool prints.
    """
    return tuple(_member(number, row) for number, row in _rows(text, "MEMBER", "--members --verbose"))


def parse_streams_states(text: str) -> tuple[StreamsGroupState, ...]:
    """Read what `--state` prints, in the order of the text.

    Raises:
        FormatError: this is not what the tool prints.
    """
    return tuple(
        StreamsGroupState(number, row["GROUP"], row["STATE"], _number(number, "#MEMBERS", row["#MEMBERS"]))
        for number, row in _rows(text, "STATE", "--state")
    )


def parse_streams_offsets(text: str) -> tuple[StreamsGroupOffsets, ...]:
    """Read what `--offsets` prints, in the order of the text.

    Raises:
        FormatError: this is not what the tool prints.
    """
    return tuple(
        StreamsGroupOffsets(
            number,
            row["GROUP"],
            TopicPartition(row["TOPIC"], _number(number, "PARTITION", row["PARTITION"])),
            _offset(number, row, "CURRENT-OFFSET"),
            _offset(number, row, "LOG-END-OFFSET"),
            _number(number, "OFFSET-LAG", row["OFFSET-LAG"]),
        )
        for number, row in _rows(text, "OFFSET-LAG", "--offsets --verbose")
    )


def _rows(text: str, wanted: str, option: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The lines with their fields by title; `wanted` is a title that tells that this is what `option` prints."""
    titles: tuple[str, ...] = ()
    remark: tuple[int, str] | None = None
    for number, line in numbered_lines(text):
        if _REMARK.match(line):
            remark = number, line.strip()
            continue
        if line.lstrip().startswith("GROUP "):
            titles = tuple(line.replace(_COORDINATOR, "COORDINATOR").split())
            if wanted not in titles:
                raise FormatError(number, f"no {wanted}; this should be what {_COMMAND} {option} prints")
        elif not titles:
            raise FormatError(number, f"'{line.strip()[:60]}' stands before the line of titles (GROUP …)")
        else:
            yield number, _fields(number, line, titles)
    if not titles:
        if remark is not None:
            raise FormatError(remark[0], f"the tool says '{remark[1]}'")
        raise FormatError(None, f"no line of titles (GROUP …); this should be what {_COMMAND} {option} prints")


def _fields(number: int, line: str, titles: tuple[str, ...]) -> Mapping[str, str]:
    """One field a title; a member without tasks has nothing under the last one."""
    text = re.sub(r"(\S+:-?\d+) (\(\S+\))", r"\1\2", line) if "COORDINATOR" in titles else line
    fields = text.split(None, len(titles) - 1)
    if titles[-1] == "ASSIGNMENTS" and len(fields) == len(titles) - 1:
        fields.append("")
    if len(fields) != len(titles):
        raise FormatError(number, f"'{line.strip()[:60]}' does not have the {len(titles)} fields of the titles")
    return dict(zip(titles, fields, strict=True))


def _member(number: int, row: Mapping[str, str]) -> StreamsGroupMember:
    text = row["ASSIGNMENTS"]
    found = {match[1]: match[2] for match in _TASKS.finditer(text)}
    if "".join(_TASKS.sub("", text).split()):
        raise FormatError(number, f"ASSIGNMENTS: '{text[:60]}' is not tasks (ACTIVE: 0:[0,1]; STANDBY: 1:[2]; …)")
    protocol = row.get("MEMBER-PROTOCOL")
    return StreamsGroupMember(
        line=number,
        group=row["GROUP"],
        member_id=row["MEMBER"],
        process_id=row["PROCESS"],
        client_id=row["CLIENT-ID"],
        tasks=StreamsTasks(*(_tasks(found.get(role, "")) for role in _ROLES)),
        target=None
        if protocol is None
        else StreamsTasks(*(_tasks(found.get(f"TARGET-{role}", "")) for role in _ROLES)),
        is_classic=None if protocol is None else protocol == "classic",
    )


def _tasks(text: str) -> tuple[str, ...]:
    return tuple(
        f"{subtopology}_{partition}"
        for subtopology, partitions in _PARTITIONS.findall(text)
        for partition in partitions.split(",")
        if partition
    )


def _offset(number: int, row: Mapping[str, str], title: str) -> int | None:
    text = row.get(title, "-")
    return None if text == "-" else _number(number, title, text)


def _number(number: int, title: str, text: str) -> int:
    if not re.fullmatch(r"-?\d{1,19}", text):
        raise FormatError(number, f"{title}: '{text[:60]}' is not a number")
    return int(text)
