"""What `kafka-consumer-groups.sh --describe` prints: which member of a group has which partitions.

Read are `--members --verbose`, as up to 3.7 (`t1(0), t2(0,1)`) and from 4.0 on (`t1:0,1;t2:0`), and the offsets that
are printed without options. What 3.8 and 3.9 print of members lacks the names of topics and is refused.

Source: `kafka.admin.ConsumerGroupCommand`, `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`
(`printMembers`, `printOffsets`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError, numbered_lines

_COMMAND = "kafka-consumer-groups.sh --describe --members --verbose"
_NONE = "-"
_REMARK = re.compile(r"\s*(Consumer group '|Warning: |Error: |The consumer group )")
_UP_TO_3_7 = re.compile(r"(?P<topic>[\w.-]+)\((?P<partitions>[\d,]+)\)")
_FROM_4_0 = re.compile(r"(?P<topic>[\w.-]+):(?P<partitions>[\d,]+)")
_NAMELESS = re.compile(r"\([\d,]+\)(, \([\d,]+\))*")
_OPTIONAL = "GROUP-INSTANCE-ID"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group.

    Attributes:
        line: where it stands first.
        partitions: what it has, sorted.
        host: where it runs.
        instance_id: its `group.instance.id`; None if it has none, or if that is not printed, as of offsets.
    """

    line: int
    group: str
    consumer_id: str
    client_id: str
    partitions: tuple[TopicPartition, ...]
    host: str
    instance_id: str | None


def parse_group_members(text: str) -> tuple[GroupMember, ...]:
    """Read the members, in the order of the text.

    Raises:
        FormatError: this is not what the tool prints, or it lacks what members have or the names of topics.
    """
    first: dict[tuple[str, str], tuple[int, Mapping[str, str]]] = {}
    partitions: dict[tuple[str, str], list[TopicPartition]] = {}
    header: _Header | None = None
    for number, line in numbered_lines(text):
        if _REMARK.match(line):
            continue
        if line.lstrip().startswith("GROUP "):
            header = _Header.read(number, line)
            continue
        if header is None:
            raise FormatError(number, f"'{line.strip()[:60]}' stands before the line of titles (GROUP CONSUMER-ID …)")
        row = header.row(number, line)
        if row["CONSUMER-ID"] == _NONE:
            continue
        member = row["GROUP"], row["CONSUMER-ID"]
        first.setdefault(member, (number, row))
        partitions.setdefault(member, []).extend(_partitions(number, row))
    if header is None:
        raise FormatError(None, f"no line of titles (GROUP CONSUMER-ID …); this should be what {_COMMAND} prints")
    return tuple(
        GroupMember(
            line=line,
            group=member[0],
            consumer_id=member[1],
            client_id=row["CLIENT-ID"],
            partitions=tuple(sorted(partitions[member])),
            host=row.get("HOST", "").removeprefix("/"),
            instance_id=row.get(_OPTIONAL) or None,
        )
        for member, (line, row) in first.items()
    )


@dataclass(frozen=True, slots=True)
class _Header:
    titles: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def read(cls, number: int, line: str) -> _Header:
        found = [(match[0], match.start()) for match in re.finditer(r"\S+", line)]
        titles = tuple(title for title, _ in found)
        if "CONSUMER-ID" not in titles:
            raise FormatError(number, f"no CONSUMER-ID; this should be what {_COMMAND} prints")
        if not {"ASSIGNMENT", "CURRENT-ASSIGNMENT", "PARTITION"} & set(titles):
            raise FormatError(number, "what members have is not printed; ask with --verbose")
        return cls(titles, tuple(start for _, start in found))

    def row(self, number: int, line: str) -> Mapping[str, str]:
        """The fields by title: where titles stand, or, of pasted text, one after another."""
        for fields in (self._in_columns(line), line.split(None, len(self.titles) - 1)):
            if len(fields) == len(self.titles) and all(
                field or title == _OPTIONAL for title, field in zip(self.titles, fields, strict=True)
            ):
                return dict(zip(self.titles, fields, strict=True))
        raise FormatError(number, f"'{line.strip()[:60]}' does not have the {len(self.titles)} fields of the titles")

    def _in_columns(self, line: str) -> Sequence[str]:
        if any(line[start - 1 : start].strip() for start in self.starts[1:]):
            return ()
        ends = (*self.starts[1:], None)
        fields = [line[start:end].strip() for start, end in zip(self.starts, ends, strict=True)]
        return () if any(re.search(r"\s{2}", field) for field in fields) else fields


def _partitions(number: int, row: Mapping[str, str]) -> Iterator[TopicPartition]:
    if "PARTITION" in row:
        if not row["PARTITION"].isdecimal():
            raise FormatError(number, f"PARTITION: '{row['PARTITION'][:60]}' is not the number of a partition")
        yield TopicPartition(row["TOPIC"], int(row["PARTITION"]))
        return
    title, pattern, between = (
        ("CURRENT-ASSIGNMENT", _FROM_4_0, ";") if "CURRENT-ASSIGNMENT" in row else ("ASSIGNMENT", _UP_TO_3_7, ", ")
    )
    text = row[title]
    if text == _NONE:
        return
    if _NAMELESS.fullmatch(text):
        raise FormatError(
            number,
            f"{title}: '{text[:60]}' lacks the names of topics, as Kafka 3.8 and 3.9 leave them out; take what "
            "kafka-consumer-groups.sh --describe --offsets prints",
        )
    for part in text.split(between):
        match = pattern.fullmatch(part)
        if match is None:
            raise FormatError(number, f"{title}: '{part[:60]}' is not a topic with its partitions")
        for partition in match["partitions"].split(","):
            yield TopicPartition(match["topic"], int(partition))
