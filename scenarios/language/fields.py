"""The kinds of values in a scenario, as pydantic fields that say in the JSON Schema what may be written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from assignors.model.ids import TaskId
from scenarios.language import units
from scenarios.language.errors import format_value
from simulator.world.world import NO_LEADER

INT_MAX: Final = 2**31 - 1
"""Java's largest int, which Kafka's INT configs end at."""

WHOLE_TOPIC: Final = "<one>"
PER_PARTITION: Final = "<each>"
"""What pydantic calls the two ways of writing an amount, in the places that it names."""

FLAT_LIST: Final = "<flat>"
PER_THREAD: Final = "<by thread>"
"""The same of the two ways of listing tasks."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InvalidEntry:
    """Stands in a list where an entry was that could not be understood, so that the others keep their positions."""

    value: Any

    @property
    def name(self) -> str | None:
        """What the entry is called, if at least that can be told."""
        name = self.value.get("name") if isinstance(self.value, dict) else None
        return name if isinstance(name, str) else None


def valid_entries(entries: Sequence[T]) -> Iterator[tuple[int, T]]:
    """The entries of a list that are no holes, with their positions."""
    return ((i, entry) for i, entry in enumerate(entries) if not isinstance(entry, InvalidEntry))


def invalid_entries(entries: Sequence[object]) -> list[InvalidEntry]:
    """The holes of a list."""
    return [entry for entry in entries if isinstance(entry, InvalidEntry)]


_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def _check_topic(name: str) -> str:
    if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        raise ValueError(
            f"{format_value(name)} is not a name that Kafka allows (1 to 249 letters, digits, '.', '_' and '-')"
        )
    return name


def _check_printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError(f"{format_value(text)} is not a name: it is blank, or has characters that cannot be printed")
    return text


def _let_holes_pass(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, InvalidEntry) else handler(value)


def _one_or_each(value: Any) -> str:
    return PER_PARTITION if isinstance(value, list) else WHOLE_TOPIC


def _flat_or_by_thread(value: Any) -> str:
    return PER_THREAD if isinstance(value, list) and any(isinstance(one, list) for one in value) else FLAT_LIST


def _parse_task(value: Any) -> TaskId:
    try:
        return TaskId.parse(value)
    except (TypeError, ValueError):
        raise ValueError(f"{format_value(value)} is not a task id (SUBTOPOLOGY_PARTITION, as in 0_3)") from None


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
        return {key: _check_scalar(each) for key, each in value.items()}
    return _check_scalar(value)


def _unit_schema(pattern: str, unit: str, example: str) -> WithJsonSchema:
    number = {"type": "integer", "minimum": 0, "description": f"in {unit}"}
    text = {"type": "string", "pattern": pattern, "minLength": 1}
    return WithJsonSchema({"anyOf": [text, number], "examples": [example]})


ListEntry = Annotated[T, WrapValidator(_let_holes_pass)]
"""An entry of a list, which may become a hole."""

Name = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_printable)]
"""What people call something."""

StrategyParameter = Annotated[
    Any, AfterValidator(_check_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})
]
"""A parameter of a strategy for brokers."""

AssignorParameter = Annotated[
    Any, AfterValidator(_check_scalars), WithJsonSchema({"type": ["string", "number", "boolean", "null", "object"]})
]
"""A parameter of a task assignor, which may name values by key."""

TopicName = Annotated[
    str,
    AfterValidator(_check_topic),
    WithJsonSchema({"type": "string", "pattern": f"^{_LEGAL_NAME.pattern}$"}),
]
"""A name that Kafka allows for a topic, which an application id has to be as well."""

Duration = Annotated[
    int,
    BeforeValidator(units.parse_duration_ms),
    _unit_schema(units.DURATION_PATTERN, "milliseconds", "20m"),
]
"""A duration, in ms once read."""

Size = Annotated[int, BeforeValidator(units.parse_bytes), _unit_schema(units.SIZE_PATTERN, "bytes", "5 GB")]
"""An amount of data, in bytes once read."""

DiskCapacity = Annotated[Size, Field(ge=1)]
"""What disks hold, in bytes once read."""

RecordSize = Annotated[Size, Field(ge=1)]
"""The mean size of a record, in bytes once read."""

Rate = Annotated[
    int, BeforeValidator(units.parse_bytes_per_s), _unit_schema(units.RATE_PATTERN, "bytes per second", "40 MB/s")
]
"""A data rate, in bytes per second once read."""

Frequency = Annotated[
    float,
    BeforeValidator(units.parse_per_hour),
    WithJsonSchema({"type": "string", "pattern": units.FREQUENCY_PATTERN, "examples": ["2/h"]}),
]
"""How often something happens, in times an hour once read."""

TrafficFactor = Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)]
"""So many times as much as usual."""

RateLimit = Annotated[Rate, Field(ge=1)]
ReplicationFactor = Annotated[int, Field(ge=1, le=32_767)]

PartitionCount = Annotated[int, Field(ge=1, le=INT_MAX)]
"""How many partitions a topic has."""

BrokerId = Annotated[int, Field(ge=0, le=INT_MAX)]

LeaderId = Annotated[
    int,
    Field(ge=NO_LEADER, le=INT_MAX),
    BeforeValidator(_parse_leader),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": NO_LEADER, "maximum": INT_MAX}, {"enum": ["none"]}]}),
]
"""The broker that leads a partition; -1 or none if there is no leader."""

TaskIdField = Annotated[
    TaskId, PlainValidator(_parse_task), WithJsonSchema({"type": "string", "pattern": r"^\d{1,9}_\d{1,9}$"})
]
"""A task id."""

TaskLists = Annotated[
    Annotated[list[TaskIdField], Tag(FLAT_LIST)]
    | Annotated[list[list[TaskIdField]], Tag(PER_THREAD), Field(min_length=1)],
    Discriminator(_flat_or_by_thread),
]
"""Tasks of a client: one list, or a list for each of its threads."""

ReplicaList = Annotated[list[BrokerId], Field(min_length=1)]
"""The brokers of a partition, the leader first."""

TopicSizes = Annotated[
    Annotated[Size, Tag(WHOLE_TOPIC)] | Annotated[list[Size], Tag(PER_PARTITION), Field(min_length=1)],
    Discriminator(_one_or_each),
]
"""One amount, shared by all partitions, or a list of one amount a partition."""

TopicRates = Annotated[
    Annotated[Rate, Tag(WHOLE_TOPIC)] | Annotated[list[Rate], Tag(PER_PARTITION), Field(min_length=1)],
    Discriminator(_one_or_each),
]
"""One rate, shared by all partitions, or a list of one rate a partition."""

TimeOfDay = Annotated[
    int,
    BeforeValidator(units.parse_time_of_day_ms),
    WithJsonSchema({"type": "string", "pattern": units.TIME_OF_DAY_PATTERN, "examples": ["08:00"]}),
]
"""A time of the day, in ms since midnight once read."""

NameList = Annotated[
    list[Name],
    BeforeValidator(_in_list),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""One name or a list of names."""
