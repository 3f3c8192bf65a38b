"""Output of `kafka-consumer-groups.sh --describe`: the partitions of each group member, and the states of groups.

Supported are `--members --verbose` up to 3.7 (`t1(0), t2(0,1)`) and from 4.0 (`t1:0,1;t2:0`), and `--offsets`, the
default. Members as 3.8 and 3.9 print them lack the topic names and are rejected.

Source: `kafka.admin.ConsumerGroupCommand`, `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`
(`printMembers`, `printOffsets`, `printStates`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError, check_columns, numbered_lines
from scenarios.kafka.naming import TOPIC_PATTERN

_COMMAND = "kafka-consumer-groups.sh --describe --members --verbose"
_STATE_COMMAND = "kafka-consumer-groups.sh --describe --state"
_STATE_COLUMNS = {
    "GROUP": r"(?P<group>\S+)\s+",
    "COORDINATOR (ID)": r"\S+\s+\(-?\d+\)\s+",
    "ASSIGNMENT-STRATEGY": r"((?P<assignor>\S+)\s+)?",  # Older releases print blanks for none.
    "STATE": r"(?P<state>\S+)\s+",
}
_NONE = "-"
_REMARK = re.compile(r"\s*(Consumer group '|Warning: |Error: |The consumer group )")
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
        line: Number of its first line.
        group: Group id.
        consumer_id: Member id.
        client_id: `client.id` of the consumer.
        partitions: Assigned partitions, sorted.
        host: Host of the consumer.
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
    """The state of a consumer group.

    Attributes:
        group: Group id.
        assignor: Name of its assignor; None without one.
        state: State, such as `Stable`.
    """

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
        elif not _REMARK.match(line):
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
        if _REMARK.match(line):
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
        raise FormatError(None, f"no header line (GROUP CONSUMER-ID …); expected the output of {_COMMAND}")
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
        check_columns(number, titles, ("CONSUMER-ID", "GROUP", "CLIENT-ID", *of_partitions), _COMMAND)
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
