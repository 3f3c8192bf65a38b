"""Output of `kafka-consumer-groups.sh` and `kafka-streams-groups.sh` with `--describe`: members, and states of groups.

Of consumer groups, supported are `--members --verbose` up to 3.7 (`t1(0), t2(0,1)`) and from 4.0 (`t1:0,1;t2:0`), and
`--offsets`, the default. Members as 3.8 and 3.9 print them lack the topic names and are rejected. Of streams groups,
supported is `--members`, which releases 4.1 to 4.3 print alike; `--verbose` adds each member's epoch and its target
assignment (TARGET-…). No release prints racks, tags, threads or the topology.

Source: `kafka.admin.ConsumerGroupCommand`, `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`
(`printMembers`, `printOffsets`, `printStates`); `org.apache.kafka.tools.streams.StreamsGroupCommand` (`printMembers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError, check_columns, numbered_lines
from scenarios.kafka.naming import TOPIC_PATTERN

_MEMBERS_COMMAND = "kafka-consumer-groups.sh --describe --members --verbose"
_STATE_COMMAND = "kafka-consumer-groups.sh --describe --state"
_STATE_COLUMNS = {
    "GROUP": r"(?P<group>\S+)\s+",
    "COORDINATOR (ID)": r"\S+\s+\(-?\d+\)\s+",
    "ASSIGNMENT-STRATEGY": r"((?P<assignor>\S+)\s+)?",  # Older releases print blanks for none.
    "STATE": r"(?P<state>\S+)\s+",
}
_NONE = "-"
_CONSUMER_REMARK = re.compile(r"\s*(Consumer group '|Warning: |Error: |The consumer group )")
_NUMBERS = r"[0-9]{1,10}(,[0-9]{1,10})*"
_PARTITIONS_UP_TO_3_7 = re.compile(rf"(?P<topic>{TOPIC_PATTERN})\((?P<partitions>{_NUMBERS})\)")
_PARTITIONS_FROM_4_0 = re.compile(rf"(?P<topic>{TOPIC_PATTERN}):(?P<partitions>{_NUMBERS})")
_PARTITIONS_WITHOUT_TOPICS = re.compile(r"\([0-9,]+\)(, \([0-9,]+\))*")
_OPTIONAL = "GROUP-INSTANCE-ID"


class UnlistedAssignmentsError(FormatError):
    """A list of members that is complete, but by its release or without `--verbose` lacks their partitions."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group.

    Attributes:
        partitions: Assigned partitions, sorted.
        instance_id: `group.instance.id`; None if it has none or the output does not show it, as for offsets.
        has_epoch: Whether the output shows a member epoch, which members of the consumer protocol have (KIP-848).
        is_classic: Whether the output shows that it still uses the classic protocol in a group of both protocols.
    """

    line: int
    group: str
    consumer_id: str
    client_id: str
    partitions: tuple[TopicPartition, ...]
    host: str
    instance_id: str | None
    has_epoch: bool = False
    is_classic: bool = False


@dataclass(frozen=True, slots=True)
class GroupState:
    """The state of a consumer group."""

    group: str
    assignor: str | None
    state: str


def parse_group_states(text: str) -> tuple[GroupState, ...]:
    """Parse the output of `kafka-consumer-groups.sh --describe --state`, with or without `--verbose`.

    Returns the groups, in the order of the text. Raises FormatError if the text is not such output.
    """
    states: list[GroupState] = []
    pattern: re.Pattern[str] | None = None
    for number, line in numbered_lines(text):
        if line.lstrip().startswith("GROUP "):
            titles = re.findall(r"COORDINATOR \(ID\)|\S+", line)
            check_columns(number, titles, ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"), _STATE_COMMAND)
            pattern = re.compile("".join(_STATE_COLUMNS.get(title, r"\S+\s+") for title in titles))
        elif not _CONSUMER_REMARK.match(line):
            match = None if pattern is None else pattern.fullmatch(f"{line.strip()} ")
            if match is None:
                raise FormatError(number, f"'{line.strip()[:60]}' is not a row of {_STATE_COMMAND}")
            assignor = match["assignor"]
            states.append(GroupState(match["group"], None if assignor == _NONE else assignor, match["state"]))
    if pattern is None:
        raise FormatError(None, f"no header line (GROUP COORDINATOR …); expected the output of {_STATE_COMMAND}")
    return tuple(states)


def parse_group_members(text: str) -> tuple[GroupMember, ...]:
    """Parse the output of `kafka-consumer-groups.sh --describe` (members or offsets).

    Returns the members, in the order of the text. Raises FormatError if the text is not such output, or lacks
    assignments or topic names.
    """
    first_row: dict[tuple[str, str], tuple[int, Mapping[str, str]]] = {}
    partitions: dict[tuple[str, str], list[TopicPartition]] = {}
    header: _Header | None = None
    for number, line in numbered_lines(text):
        if _CONSUMER_REMARK.match(line):
            continue
        if line.lstrip().startswith("GROUP "):
            header = _Header.parse(number, line)
            continue
        if header is None:
            raise FormatError(number, f"'{line.strip()[:60]}' before the header line (GROUP CONSUMER-ID …)")
        row = header.parse_row(number, line)
        if row["CONSUMER-ID"] == _NONE:
            continue
        member = row["GROUP"], row["CONSUMER-ID"]
        first_row.setdefault(member, (number, row))
        partitions.setdefault(member, []).extend(_parse_partitions(number, row))
    if header is None:
        raise FormatError(None, f"no header line (GROUP CONSUMER-ID …); expected the output of {_MEMBERS_COMMAND}")
    return tuple(
        GroupMember(
            line=line,
            group=member[0],
            consumer_id=member[1],
            client_id=row["CLIENT-ID"],
            partitions=tuple(sorted(partitions[member])),
            host=row.get("HOST", "").removeprefix("/"),
            instance_id=row.get(_OPTIONAL) or None,
            has_epoch=row.get("CURRENT-EPOCH", _NONE) != _NONE,
            is_classic=row.get("UPGRADED") == "false",
        )
        for member, (line, row) in first_row.items()
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """The header line: column titles and the positions at which they start."""

    titles: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def parse(cls, number: int, line: str) -> _Header:
        columns = [(match[0], match.start()) for match in re.finditer(r"\S+", line)]
        titles = tuple(title for title, _ in columns)
        of_partitions = ("TOPIC",) if "PARTITION" in titles else ()
        check_columns(number, titles, ("CONSUMER-ID", "GROUP", "CLIENT-ID", *of_partitions), _MEMBERS_COMMAND)
        if not {"ASSIGNMENT", "CURRENT-ASSIGNMENT", "PARTITION"} & set(titles):
            raise UnlistedAssignmentsError(number, "no column with assignments; run the tool with --verbose")
        return cls(titles, tuple(start for _, start in columns))

    def parse_row(self, number: int, line: str) -> Mapping[str, str]:
        """Return the fields by title, split at the columns or, in pasted text, at blanks.

        Raises FormatError if the number of fields differs from the number of columns.
        """
        for fields in (self._split_at_columns(line), line.split(None, len(self.titles) - 1)):
            if len(fields) == len(self.titles) and all(
                field or title == _OPTIONAL for title, field in zip(self.titles, fields, strict=True)
            ):
                return dict(zip(self.titles, fields, strict=True))
        raise FormatError(number, f"'{line.strip()[:60]}' does not match the {len(self.titles)} columns of the header")

    def _split_at_columns(self, line: str) -> Sequence[str]:
        if any(line[start - 1 : start].strip() for start in self.starts[1:]):
            return ()
        ends = (*self.starts[1:], None)
        fields = [line[start:end].strip() for start, end in zip(self.starts, ends, strict=True)]
        return () if any(re.search(r"\s{2}", field) for field in fields) else fields


def _parse_partitions(number: int, row: Mapping[str, str]) -> Iterator[TopicPartition]:
    if "PARTITION" in row:
        if not re.fullmatch(r"[0-9]{1,10}", row["PARTITION"]):
            raise FormatError(number, f"PARTITION: '{row['PARTITION'][:60]}' is not a partition number")
        yield TopicPartition(row["TOPIC"], int(row["PARTITION"]))
        return
    title, pattern, separator = (
        ("CURRENT-ASSIGNMENT", _PARTITIONS_FROM_4_0, ";")
        if "CURRENT-ASSIGNMENT" in row
        else ("ASSIGNMENT", _PARTITIONS_UP_TO_3_7, ", ")
    )
    text = row[title]
    if text == _NONE:
        return
    if _PARTITIONS_WITHOUT_TOPICS.fullmatch(text):
        raise UnlistedAssignmentsError(
            number,
            f"{title}: '{text[:60]}' lacks topic names (a defect of Kafka 3.8 and 3.9); use the output of "
            "kafka-consumer-groups.sh --describe --offsets",
        )
    for part in text.split(separator):
        match = pattern.fullmatch(part)
        if match is None:
            raise FormatError(number, f"{title}: '{part[:60]}' is not a topic with partitions")
        for partition in match["partitions"].split(","):
            yield TopicPartition(match["topic"], int(partition))


_COMMAND = "kafka-streams-groups.sh --describe --members --verbose"
_REMARK = re.compile(r"\s*Error: ")
_TASKS_OF_ROLE = re.compile(r"((?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): ((?:[^\s:]+:\[[0-9,]*\];(?: |$))+)")
_PARTITIONS = re.compile(r"([^\s:]+):\[([0-9,]*)\];")
_ROLES = ("ACTIVE", "STANDBY", "WARMUP")


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """Task ids as Kafka writes them (`0_3`), in the order of the text."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamsGroupMember:
    """A member of a streams group (a stream thread).

    Attributes:
        process_id: Process id; a UUID by default.
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


def parse_streams_members(text: str) -> tuple[StreamsGroupMember, ...]:
    """Parse the output of `--members`.

    Returns the members, in the order of the text. Raises FormatError if the text is not such output.
    """
    members: list[StreamsGroupMember] = []
    titles: tuple[str, ...] = ()
    remark: tuple[int, str] | None = None
    for number, line in numbered_lines(text):
        if _REMARK.match(line):
            remark = number, line.strip()
        elif line.lstrip().startswith("GROUP "):
            titles = tuple(line.replace("COORDINATOR (ID)", "COORDINATOR").split())
            check_columns(number, titles, ("MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"), _COMMAND)
        elif not titles:
            raise FormatError(number, f"'{line.strip()[:60]}' before the header line (GROUP …)")
        else:
            members.append(_parse_member(number, _split_fields(number, line, titles)))
    if not titles:
        if remark is not None:
            raise FormatError(remark[0], f"the tool reported '{remark[1]}'")
        raise FormatError(None, f"no header line (GROUP …); expected the output of {_COMMAND}")
    return tuple(members)


def _split_fields(number: int, line: str, titles: tuple[str, ...]) -> Mapping[str, str]:
    """Return the fields by title; the last field is missing for a member without tasks.

    Raises FormatError if the number of fields differs from the number of columns.
    """
    fields = line.split(None, len(titles) - 1)
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
