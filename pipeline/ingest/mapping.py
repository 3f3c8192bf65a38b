"""Mappings: the meaning of the columns and metric names that exporters and reporters use.

A wide source has columns for bytes and messages; a long source has a metric name and a value per row, as Prometheus
does. Common mappings are built in; others are read from a small YAML file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.ingest.errors import IngestError
from scenarios.language.paths import format_path
from scenarios.language.text_files import UnreadableError, read_text
from scenarios.language.yaml_reader import MAX_BYTES, YamlReadError, read_yaml

Measure = Literal["bytes", "messages", "size"]
Kind = Literal["counter", "rate"]
BrokerCombination = Literal["each", "sum", "largest"]


class _MappingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MappedMetric(_MappingModel):
    """One metric of a long source.

    Attributes:
        measures: incoming bytes, incoming messages, or the size of a replica in bytes.
        kind: a counter that grows until it is reset, or a rate per second.
        per: whether it is measured per partition or only per topic.
        brokers: how simultaneous values of several brokers are combined: `each` if only the leader reports a partition;
            `sum` to add them; `largest` if every replica reports the same value.
    """

    measures: Measure
    kind: Kind = "counter"
    per: Literal["partition", "topic"] = "partition"
    brokers: BrokerCombination = "each"


class SourceMapping(_MappingModel):
    """The columns of a source and their meaning.

    Attributes:
        time: time of the measurement by the clock of the measuring broker: seconds, milliseconds, microseconds or
            nanoseconds since 1970, or ISO 8601; UTC without a zone.
        received: time of receipt by the clock of the collector, if known; reveals wrong clocks.
        topic: column or label of the topic.
        partition: column or label of the partition; None if only topics are measured.
        broker: column or label of the measuring broker; each broker has its own counters.
        labels: column with labels, either in Prometheus format, `{topic="orders",partition="0"}`, or as a JSON object.
            If set, topic, partition and broker are names of labels.
        kind: of a wide source, whether its columns are counters or rates.
        bytes: of a wide source, the column with incoming bytes.
        messages: of a wide source, the column with incoming messages.
        name: of a long source, the column with the name of the metric.
        value: of a long source, the column with the value.
        metrics: of a long source, its metrics by name; other metrics are ignored.
    """

    time: str = "timestamp"
    received: str | None = None
    topic: str = "topic"
    partition: str | None = "partition"
    broker: str | None = None
    labels: str | None = None
    kind: Kind = "counter"
    bytes: str | None = None
    messages: str | None = None
    name: str | None = None
    value: str | None = None
    metrics: Mapping[str, MappedMetric] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _wide_or_long(self) -> SourceMapping:
        if self.is_long:
            if self.name is None or self.value is None or not self.metrics:
                raise ValueError("a long source needs name, value and metrics")
            if self.bytes is not None or self.messages is not None:
                raise ValueError(
                    "bytes and messages are columns of a wide source; name the metrics of a long source in metrics"
                )
        elif self.bytes is None and self.messages is None:
            raise ValueError("no measured value: set bytes or messages (wide), or name, value and metrics (long)")
        return self

    @property
    def is_long(self) -> bool:
        """Return whether rows have a metric name and a value."""
        return self.name is not None or self.value is not None or bool(self.metrics)

    @property
    def required(self) -> tuple[str, ...]:
        """Return the columns that the source must have."""
        keys = (self.topic, self.partition if not self.is_long else None) if self.labels is None else (self.labels,)
        measured = (self.name, self.value) if self.is_long else (self.bytes, self.messages)
        return tuple(dict.fromkeys(column for column in (self.time, *keys, *measured) if column is not None))

    @property
    def optional(self) -> tuple[str, ...]:
        """Return the columns that are used if present."""
        keys = (self.broker, self.partition) if self.labels is None else ()
        return tuple(
            dict.fromkeys(
                column for column in (self.received, *keys) if column is not None and column not in self.required
            )
        )


@dataclass(frozen=True, slots=True)
class NamedMapping:
    """A mapping with its name or file."""

    name: str
    mapping: SourceMapping = field(repr=False)


_JMX = "kafka_server_brokertopicmetrics_"

BUILT_IN: Mapping[str, SourceMapping] = {
    "plain": SourceMapping(received="received", broker="broker", bytes="bytes_in_total", messages="messages_in_total"),
    "plain-rates": SourceMapping(
        received="received", broker="broker", kind="rate", bytes="bytes_in_per_s", messages="messages_in_per_s"
    ),
    "jmx-exporter": SourceMapping(
        name="__name__",
        value="value",
        broker="instance",
        metrics={
            f"{_JMX}bytesin_total": MappedMetric(measures="bytes", per="topic", brokers="sum"),
            f"{_JMX}bytesinpersec_count": MappedMetric(measures="bytes", per="topic", brokers="sum"),
            f"{_JMX}messagesin_total": MappedMetric(measures="messages", per="topic", brokers="sum"),
            f"{_JMX}messagesinpersec_count": MappedMetric(measures="messages", per="topic", brokers="sum"),
            "kafka_log_log_logendoffset": MappedMetric(measures="messages", brokers="largest"),
            "kafka_log_log_size": MappedMetric(measures="size"),
        },
    ),
    "cruise-control": SourceMapping(
        time="time",
        name="rawMetricType",
        value="value",
        broker="brokerId",
        metrics={
            "TOPIC_BYTES_IN": MappedMetric(measures="bytes", kind="rate", per="topic", brokers="sum"),
            "TOPIC_MESSAGES_IN_PER_SEC": MappedMetric(measures="messages", kind="rate", per="topic", brokers="sum"),
            "PARTITION_SIZE": MappedMetric(measures="size"),
        },
    ),
}
"""Built-in mappings by name.

Source: examples/kafka-kraft-3_0_0.yml and example_configs/kafka-2_0_0.yml of prometheus/jmx_exporter (its newer and
older rules name the same meter …_total and …persec_count); RawMetricType and CruiseControlMetric of
linkedin/cruise-control. Kafka counts bytes per topic only, and messages per partition only as the end offset.
"""


def find_mapping(text: str) -> NamedMapping:
    """Return a built-in mapping by name, or read one from a YAML file.

    Raises:
        IngestError: neither exists, or the file is not a valid mapping.
    """
    if text in BUILT_IN:
        return NamedMapping(text, BUILT_IN[text])
    path = Path(text)
    if not path.is_file():
        raise IngestError(f"--map {text}: no such file or built-in mapping (mappings: {', '.join(BUILT_IN)})")
    try:
        tree = read_yaml(read_text(path, MAX_BYTES, f"longer than the maximum of {MAX_BYTES:,} bytes"))
    except (YamlReadError, UnreadableError) as error:
        place = text if error.line is None else f"{text}:{error.line}"
        raise IngestError(f"{place}: {error}") from None
    try:
        return NamedMapping(text, SourceMapping.model_validate(tree.value))
    except ValidationError as error:
        first = error.errors()[0]
        known = next(first["loc"][:n] for n in range(len(first["loc"]), -1, -1) if first["loc"][:n] in tree.lines)
        where = format_path(first["loc"])
        problem = first["msg"].removeprefix("Value error, ")
        raise IngestError(f"{text}:{tree.lines[known]}: {f'{where}: ' if where else ''}{problem}") from None
