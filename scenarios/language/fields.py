"""The base class of the sections of a scenario, and their value types, as pydantic fields with their JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from assignors.model.ids import TaskId, TopicId, TopicPartition
from scenarios.language import units
from scenarios.language.errors import format_value
from scenarios.language.releases import parse_release
from scenarios.language.yaml_reader import WrittenFloat
from simulator.world.world import NO_LEADER


class ScenarioSection(BaseModel):
    """A section of a scenario, which rejects unknown keys and values of other types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


def config_keys(section: type[ScenarioSection]) -> frozenset[str]:
    """Return the keys of a section as a scenario writes them."""
    return frozenset(model_field.alias or name for name, model_field in section.model_fields.items())


INT_MAX: Final = 2**31 - 1
"""Java's `Integer.MAX_VALUE`, the maximum of Kafka's INT configs."""

WHOLE_TOPIC: Final = "<one>"
PER_PARTITION: Final = "<each>"
"""Union tags of the two forms of an amount in pydantic's error locations."""

FLAT_LIST: Final = "<flat>"
PER_THREAD: Final = "<by thread>"
"""Union tags of the two forms of a task list in pydantic's error locations."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InvalidEntry:
    """A placeholder for an invalid list entry, which keeps the positions of the other entries.

    `value`: the data of the entry.
    """

    value: Any

    @property
    def name(self) -> str | None:
        """Return the name of the entry, or None if it has no valid name."""
        name = self.value.get("name") if isinstance(self.value, dict) else None
        return name if isinstance(name, str) else None


def valid_entries(entries: Sequence[T]) -> Iterator[tuple[int, T]]:
    """Yield the valid entries of a list with their positions."""
    return ((i, entry) for i, entry in enumerate(entries) if not isinstance(entry, InvalidEntry))


def invalid_entries(entries: Sequence[object]) -> list[InvalidEntry]:
    """Return the invalid entries of a list."""
    return [entry for entry in entries if isinstance(entry, InvalidEntry)]


_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def _check_topic(name: str) -> str:
    if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        raise ValueError(f"{format_value(name)} is not a legal Kafka name (1 to 249 letters, digits, '.', '_' and '-')")
    return name


def _as_written(value: Any) -> Any:
    if isinstance(value, WrittenFloat):
        return value.text
    return str(value) if type(value) is int else value


def _check_release(text: str) -> str:
    parse_release(text)
    return text


def _check_printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError(f"{format_value(text)} is not a name: it is blank or contains unprintable characters")
    return text


def _pass_invalid_entries(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, InvalidEntry) else handler(value)


def _tag_of_amount(value: Any) -> str:
    return PER_PARTITION if isinstance(value, list) else WHOLE_TOPIC


def _tag_of_tasks(value: Any) -> str:
    return PER_THREAD if isinstance(value, list) and any(isinstance(entry, list) for entry in value) else FLAT_LIST


def _parsed_by(parse: Callable[[Any], object], wanted: str) -> PlainValidator:
    """Return a validator that parses a value; its errors say what is wanted."""

    def read(value: Any) -> object:
        try:
            return parse(value)
        except (AttributeError, TypeError, ValueError):
            raise ValueError(f"{format_value(value)} is not {wanted}") from None

    return PlainValidator(read)


def _parse_leader(value: Any) -> Any:
    return NO_LEADER if value == "none" else value


def _in_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_scalar(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise ValueError(f"expected text, a number, true, false or nothing, found {format_value(value)}")
    return value


def _check_scalars(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _check_scalar(entry) for key, entry in value.items()}
    return _check_scalar(value)


def unit_schema(pattern: str, unit: str, example: str, minimum: int = 0) -> WithJsonSchema:
    """Return the schema of a text with a unit, or a whole number in the base unit."""
    number = {"type": "integer", "minimum": minimum, "description": f"in {unit}"}
    text = {"type": "string", "pattern": pattern, "minLength": 1}
    return WithJsonSchema({"anyOf": [text, number], "examples": [example]})


def expands_to(key: str) -> BeforeValidator:
    """Return a validator that reads a text as a mapping with this key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def one_of(values: Collection[str], wanted: str) -> AfterValidator:
    """Return a validator of a text; its errors say what is wanted."""

    def check(text: str) -> str:
        if text not in values:
            raise ValueError(f"{format_value(text)} is not {wanted}")
        return text

    return AfterValidator(check)


ListEntry = Annotated[T, WrapValidator(_pass_invalid_entries)]
"""A list entry, or an `InvalidEntry` in its place."""

Name = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_printable)]
"""A printable name."""

KafkaRelease = Annotated[
    str,
    BeforeValidator(_as_written),
    AfterValidator(_check_release),
    WithJsonSchema({"type": ["string", "number"]}),
]
"""A release of Kafka; quotes are not needed."""

StrategyParameter = Annotated[
    Any, AfterValidator(_check_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})
]
"""A parameter of a replica assignor."""

AssignorParameter = Annotated[
    Any, AfterValidator(_check_scalars), WithJsonSchema({"type": ["string", "number", "boolean", "null", "object"]})
]
"""A parameter of a task assignor: a scalar, or a mapping of scalars."""

TopicName = Annotated[
    str,
    AfterValidator(_check_topic),
    WithJsonSchema({"type": "string", "pattern": f"^{_LEGAL_NAME.pattern}$"}),
]
"""A legal topic name; application ids follow the same rules."""

Duration = Annotated[
    int,
    BeforeValidator(units.parse_duration_ms),
    unit_schema(units.DURATION_PATTERN, "milliseconds", "20m"),
]
"""A duration, parsed to milliseconds."""

PositiveDuration = Annotated[Duration, Field(ge=1, le=INT_MAX)]
"""A duration that Kafka stores as a positive INT."""

PositiveInt = Annotated[int, Field(ge=1, le=INT_MAX)]
"""A positive INT."""

Size = Annotated[int, BeforeValidator(units.parse_bytes), unit_schema(units.SIZE_PATTERN, "bytes", "5 GB")]
"""A size, parsed to bytes."""

DiskCapacity = Annotated[Size, Field(ge=1)]
RecordSize = Annotated[Size, Field(ge=1)]
"""A disk capacity, and a mean record size, parsed to bytes."""

Rate = Annotated[
    int, BeforeValidator(units.parse_bytes_per_s), unit_schema(units.RATE_PATTERN, "bytes per second", "40 MB/s")
]
"""A data rate, parsed to bytes per second."""

Frequency = Annotated[
    float,
    BeforeValidator(units.parse_per_hour),
    WithJsonSchema({"type": "string", "pattern": units.FREQUENCY_PATTERN, "examples": ["2/h"]}),
]
"""A frequency, parsed to events per hour."""

TrafficFactor = Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)]
"""A multiple of the configured traffic."""

RateLimit = Annotated[Rate, Field(ge=1)]
ReplicationFactor = Annotated[int, Field(ge=1, le=32_767)]

PartitionCount = PositiveInt
"""The number of partitions of a topic."""

BrokerId = Annotated[int, Field(ge=0, le=INT_MAX)]
BrokerIds = Annotated[list[BrokerId], Field(min_length=1)]

LeaderId = Annotated[
    int,
    Field(ge=NO_LEADER, le=INT_MAX),
    BeforeValidator(_parse_leader),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": NO_LEADER, "maximum": INT_MAX}, {"enum": ["none"]}]}),
]
"""The leader of a partition; -1 or `none` for no leader."""

TaskIdField = Annotated[
    TaskId,
    _parsed_by(TaskId.parse, "a task id (SUBTOPOLOGY_PARTITION, as in 0_3)"),
    WithJsonSchema({"type": "string", "pattern": r"^\d{1,9}_\d{1,9}$"}),
]
"""A task id."""

PartitionField = Annotated[
    TopicPartition,
    _parsed_by(TopicPartition.parse, "a partition (TOPIC-PARTITION, as in orders-3)"),
    WithJsonSchema({"type": "string", "pattern": r"^.+-\d{1,9}$"}),
]
"""A partition of a topic."""

_ListsPerThread = Annotated[
    Annotated[list[T], Tag(FLAT_LIST)] | Annotated[list[list[T]], Tag(PER_THREAD), Field(min_length=1)],
    Discriminator(_tag_of_tasks),
]
TaskLists = _ListsPerThread[TaskIdField]
PartitionLists = _ListsPerThread[PartitionField]
"""The tasks of a client, or the partitions of a process of consumers: one list, or one per thread or consumer."""

TopicIdField = Annotated[
    TopicId,
    _parsed_by(TopicId.parse, "a topic id (22 characters, as kafka-topics.sh prints)"),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"}),
]
"""The id of a topic, as Kafka's tools print it."""

ReplicaList = Annotated[list[BrokerId], Field(min_length=1)]
"""The broker ids of a partition, the preferred leader first."""

_AmountOfTopic = Annotated[
    Annotated[T, Tag(WHOLE_TOPIC)] | Annotated[list[T], Tag(PER_PARTITION), Field(min_length=1)],
    Discriminator(_tag_of_amount),
]
TopicSizes = _AmountOfTopic[Size]
TopicRates = _AmountOfTopic[Rate]
"""An amount of the whole topic, or a list of amounts per partition."""

TimeOfDay = Annotated[
    int,
    BeforeValidator(units.parse_time_of_day_ms),
    WithJsonSchema({"type": "string", "pattern": units.TIME_OF_DAY_PATTERN, "examples": ["08:00"]}),
]
"""A time of day, parsed to milliseconds since midnight."""

NameList = Annotated[
    list[Name],
    BeforeValidator(_in_list),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""A name or a list of names."""
