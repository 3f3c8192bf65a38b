"""Output of `kafka-streams-groups.sh --describe` for groups of the streams protocol: members, state and offsets.

Releases 4.1 to 4.3 print the same lines. `--members` shows each member's tasks; `--verbose` adds its epoch and its
target assignment (TARGET-…). No release prints racks, tags, threads or the topology.

Source: `org.apache.kafka.tools.streams.StreamsGroupCommand` (`printMembers`, `printStates`, `printOffsets`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError, check_columns, numbered_lines

_COMMAND = "kafka-streams-groups.sh --describe"
_COORDINATOR = "COORDINATOR (ID)"
_REMARK = re.compile(r"\s*Error: ")
_TASKS_OF_ROLE = re.compile(r"((?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): ((?:[^\s:]+:\[[0-9,]*\];(?: |$))+)")
_PARTITIONS = re.compile(r"([^\s:]+):\[([0-9,]*)\];")
_ROLES = ("ACTIVE", "STANDBY", "WARMUP")


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """Task ids as Kafka writes them (`0_3`), in the order of the text.

    Attributes:
        active: Active tasks.
        standby: Standby tasks.
        warmup: Warm-up tasks.
    """

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamsGroupMember:
    """A member of a streams group (a stream thread).

    Attributes:
        group: Group id.
        process_id: Process id; a UUID by default.
        tasks: Current assignment.
        target: Target assignment; None without `--verbose`.
        is_classic: Whether it still uses the classic protocol; None without `--verbose`.
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
    """State of a group.

    Attributes:
        group: Group id.
        state: State, such as Stable.
    """

    line: int
    group: str
    state: str
    members: int


@dataclass(frozen=True, slots=True)
class StreamsGroupOffsets:
    """Offsets of a partition that a group reads.

    Attributes:
        group: Group id.
        current_offset: Committed offset; None if there is none, or without `--verbose`.
        end_offset: Log end offset; None if there is none, or without `--verbose`.
        lag: Offset lag.
    """

    line: int
    group: str
    partition: TopicPartition
    current_offset: int | None
    end_offset: int | None
    lag: int


def parse_streams_members(text: str) -> tuple[StreamsGroupMember, ...]:
    """Parse the output of `--members`.

    Returns the members, in the order of the text. Raises FormatError if the text is not such output.
    """
    required = ("MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS")
    return tuple(_parse_member(number, row) for number, row in _parse_rows(text, required, "--members --verbose"))


def parse_streams_states(text: str) -> tuple[StreamsGroupState, ...]:
    """Parse the output of `--state`.

    Returns the groups, in the order of the text. Raises FormatError if the text is not such output.
    """
    return tuple(
        StreamsGroupState(number, row["GROUP"], row["STATE"], _parse_number(number, "#MEMBERS", row["#MEMBERS"]))
        for number, row in _parse_rows(text, ("STATE", "#MEMBERS"), "--state")
    )


def parse_streams_offsets(text: str) -> tuple[StreamsGroupOffsets, ...]:
    """Parse the output of `--offsets`.

    Returns the partitions, in the order of the text. Raises FormatError if the text is not such output.
    """
    return tuple(
        StreamsGroupOffsets(
            number,
            row["GROUP"],
            TopicPartition(row["TOPIC"], _parse_number(number, "PARTITION", row["PARTITION"])),
            _parse_offset(number, row, "CURRENT-OFFSET"),
            _parse_offset(number, row, "LOG-END-OFFSET"),
            _parse_number(number, "OFFSET-LAG", row["OFFSET-LAG"]),
        )
        for number, row in _parse_rows(text, ("OFFSET-LAG", "TOPIC", "PARTITION"), "--offsets --verbose")
    )


def _parse_rows(text: str, required: Sequence[str], option: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows with their fields by title; the `required` columns identify the output of `option`.

    Yields the line number and fields of each row. Raises FormatError if the text is not the output of `option`.
    """
    titles: tuple[str, ...] = ()
    remark: tuple[int, str] | None = None
    for number, line in numbered_lines(text):
        if _REMARK.match(line):
            remark = number, line.strip()
            continue
        if line.lstrip().startswith("GROUP "):
            titles = tuple(line.replace(_COORDINATOR, "COORDINATOR").split())
            check_columns(number, titles, required, f"{_COMMAND} {option}")
        elif not titles:
            raise FormatError(number, f"'{line.strip()[:60]}' before the header line (GROUP …)")
        else:
            yield number, _split_fields(number, line, titles)
    if not titles:
        if remark is not None:
            raise FormatError(remark[0], f"the tool reported '{remark[1]}'")
        raise FormatError(None, f"no header line (GROUP …); expected the output of {_COMMAND} {option}")


def _split_fields(number: int, line: str, titles: tuple[str, ...]) -> Mapping[str, str]:
    """Return the fields by title; the last field is missing for a member without tasks.

    Raises FormatError if the number of fields differs from the number of columns.
    """
    text = re.sub(r"(\S+:-?\d+) (\(\S+\))", r"\1\2", line) if "COORDINATOR" in titles else line
    fields = text.split(None, len(titles) - 1)
    if titles[-1] == "ASSIGNMENTS" and len(fields) == len(titles) - 1:
        fields.append("")
    if len(fields) != len(titles):
        raise FormatError(number, f"'{line.strip()[:60]}' does not match the {len(titles)} columns of the header")
    return dict(zip(titles, fields, strict=True))


def _parse_member(number: int, row: Mapping[str, str]) -> StreamsGroupMember:
    text = row["ASSIGNMENTS"]
    tasks_of = {match[1]: match[2] for match in _TASKS_OF_ROLE.finditer(text)}
    if "".join(_TASKS_OF_ROLE.sub("", text).split()):
        raise FormatError(number, f"ASSIGNMENTS: '{text[:60]}' is not a list of tasks (ACTIVE: 0:[0,1]; STANDBY: …)")
    protocol = row.get("MEMBER-PROTOCOL")
    return StreamsGroupMember(
        line=number,
        group=row["GROUP"],
        member_id=row["MEMBER"],
        process_id=row["PROCESS"],
        client_id=row["CLIENT-ID"],
        tasks=StreamsTasks(*(_parse_tasks(tasks_of.get(role, "")) for role in _ROLES)),
        target=None
        if protocol is None
        else StreamsTasks(*(_parse_tasks(tasks_of.get(f"TARGET-{role}", "")) for role in _ROLES)),
        is_classic=None if protocol is None else protocol == "classic",
    )


def _parse_tasks(text: str) -> tuple[str, ...]:
    return tuple(
        f"{subtopology}_{partition}"
        for subtopology, partitions in _PARTITIONS.findall(text)
        for partition in partitions.split(",")
        if partition
    )


def _parse_offset(number: int, row: Mapping[str, str], title: str) -> int | None:
    text = row.get(title, "-")
    return None if text == "-" else _parse_number(number, title, text)


def _parse_number(number: int, title: str, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        raise FormatError(number, f"{title}: '{text[:60]}' is not a number")
    return int(text)
