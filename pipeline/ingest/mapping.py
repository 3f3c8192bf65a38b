"""Mappings: the meaning of the columns and metric names that exporters and reporters use.

A wide source has columns for bytes and messages; a long source has a metric name and a value per row, as Prometheus
does. Common mappings are built in; others are read from a small YAML file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import IngestError
from scenarios.language.paths import format_path
from scenarios.language.text_files import UnreadableError, read_text
from scenarios.language.yaml_reader import MAX_BYTES, YamlReadError, read_yaml

Measure = Literal["bytes", "messages", "size", "bytes_out", "lag"]
Kind = Literal["counter", "rate"]
BrokerCombination = Literal["each", "sum", "largest"]


_INCOMING: tuple[Measure, ...] = ("bytes", "messages")


class _MappingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MappedMetric(_MappingModel):
    """One metric of a long source.

    Attributes:
        measures: incoming bytes, incoming messages, the size of a replica in bytes, bytes out (what consumers fetch, by
            topic), or the lag of a consumer group in records.
        kind: a counter that grows until it is reset, or a rate per second; a size or lag is neither.
        per: whether it is measured per partition or only per topic.
        seconds: of a rate, the time that a value is for: 60 for bytes per minute.
        brokers: how the values of several brokers are combined: `each` if only the leader counts a partition, to add
            them and to leave out the time for which a broker has no value only if the others have no traffic; `sum` to
            add them, and `largest` if every replica reports the same value, both without the time for which a broker
            has no value. Values per topic of `each` are those of `sum`.
    """

    measures: Measure
    kind: Kind = "counter"
    per: Literal["partition", "topic"] = "partition"
    seconds: float = Field(default=1, gt=0, allow_inf_nan=False)
    brokers: BrokerCombination = "each"

    @model_validator(mode="after")
    def _consistent(self) -> MappedMetric:
        if self.seconds != 1 and (self.kind == "counter" or self.measures in ("size", "lag")):
            raise ValueError("seconds is the time that a rate is for; a counter, a size or a lag has none")
        if self.measures == "bytes_out" and self.per != "topic":
            raise ValueError("brokers count bytes out by topic only; set per: topic")
        return self


class SourceMapping(_MappingModel):
    """The columns of a source and their meaning.

    Attributes:
        time: time of the measurement by the clock of the measuring broker: seconds, milliseconds, microseconds or
            nanoseconds since 1970, or ISO 8601; UTC without a zone.
        received: time of receipt by the clock of the collector, if known; reveals wrong clocks.
        topic: column or label of the topic.
        partition: column or label of the partition; None if only topics are measured.
        broker: column or label of the measuring broker; each broker has its own counters, which are combined as those
            of `each` (see `MappedMetric`) if the source is wide.
        labels: column with labels, either in Prometheus format, `{topic="orders",partition="0"}`, or as a JSON object.
            If set, topic, partition and broker are names of labels.
        kind: of a wide source, whether its columns are counters or rates.
        bytes: of a wide source, the column with incoming bytes.
        messages: of a wide source, the column with incoming messages.
        group: column or label of the consumer group, for metrics that measure lag.
        name: of a long source, the column with the name of the metric.
        qualifier: of a long source, a column or label that distinguishes metrics of one name; in `metrics`, it follows
            the name and a colon.
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
    group: str | None = None
    name: str | None = None
    qualifier: str | None = None
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
            if self.group is None and any(metric.measures == "lag" for metric in self.metrics.values()):
                raise ValueError("a metric that measures lag needs group, the column or label of the consumer group")
        elif self.group is not None or self.qualifier is not None:
            raise ValueError("group and qualifier are of a long source; set name, value and metrics, too")
        elif self.bytes is None and self.messages is None:
            raise ValueError("no measured value: set bytes or messages (wide), or name, value and metrics (long)")
        return self

    @property
    def is_long(self) -> bool:
        """Return whether rows have a metric name and a value."""
        return self.name is not None or self.value is not None or bool(self.metrics)

    @property
    def measures_topics(self) -> bool:
        """Return whether rows can measure the incoming traffic of a topic as a whole."""
        if not self.is_long:
            return self.partition is None
        return any(metric.per == "topic" and metric.measures in _INCOMING for metric in self.metrics.values())

    @property
    def required(self) -> tuple[str, ...]:
        """Return the columns that the source must have."""
        keys = (self.topic, self.partition if not self.is_long else None) if self.labels is None else (self.labels,)
        measured = (self.name, self.value) if self.is_long else (self.bytes, self.messages)
        return tuple(dict.fromkeys(column for column in (self.time, *keys, *measured) if column is not None))

    @property
    def optional(self) -> tuple[str, ...]:
        """Return the columns that are used if present."""
        keys = (self.broker, self.partition, self.group, self.qualifier) if self.labels is None else ()
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

    @property
    def record(self) -> dict[str, Any]:
        """Return the mapping as a JSON-serializable dictionary, without defaults."""
        return self.mapping.model_dump(mode="json", exclude_defaults=True)


_JMX = "kafka_server_brokertopicmetrics_"
_MSK = "kafka_server_BrokerTopicMetrics_Count:"
_CONFLUENT = "confluent_kafka_server_"
_KAFKA_EXPORTER_LAGS: Mapping[str, MappedMetric] = {
    "kafka_consumergroup_lag": MappedMetric(measures="lag"),
    "kafka_consumergroup_lag_sum": MappedMetric(measures="lag", per="topic"),
}
"""kafka_exporter usually runs beside the JMX exporter, as with Strimzi."""

BUILT_IN: Mapping[str, SourceMapping] = {
    "plain": SourceMapping(received="received", broker="broker", bytes="bytes_in_total", messages="messages_in_total"),
    "plain-rates": SourceMapping(
        received="received", broker="broker", kind="rate", bytes="bytes_in_per_s", messages="messages_in_per_s"
    ),
    "jmx-exporter": SourceMapping(
        name="__name__",
        value="value",
        broker="instance",
        group="consumergroup",
        metrics={
            f"{_JMX}bytesin_total": MappedMetric(measures="bytes", per="topic", brokers="sum"),
            f"{_JMX}bytesinpersec_count": MappedMetric(measures="bytes", per="topic", brokers="sum"),
            f"{_JMX}messagesin_total": MappedMetric(measures="messages", per="topic", brokers="sum"),
            f"{_JMX}messagesinpersec_count": MappedMetric(measures="messages", per="topic", brokers="sum"),
            f"{_JMX}bytesout_total": MappedMetric(measures="bytes_out", per="topic", brokers="sum"),
            f"{_JMX}bytesoutpersec_count": MappedMetric(measures="bytes_out", per="topic", brokers="sum"),
            "kafka_log_log_logendoffset": MappedMetric(measures="messages", brokers="largest"),
            "kafka_log_log_size": MappedMetric(measures="size"),
            **_KAFKA_EXPORTER_LAGS,
        },
    ),
    "msk": SourceMapping(
        name="__name__",
        qualifier="name",
        value="value",
        broker="instance",
        group="consumergroup",
        metrics={
            f"{_MSK}BytesInPerSec": MappedMetric(measures="bytes", per="topic", brokers="sum"),
            f"{_MSK}MessagesInPerSec": MappedMetric(measures="messages", per="topic", brokers="sum"),
            f"{_MSK}BytesOutPerSec": MappedMetric(measures="bytes_out", per="topic", brokers="sum"),
            "kafka_log_Log_Value:LogEndOffset": MappedMetric(measures="messages", brokers="largest"),
            "kafka_log_Log_Value:Size": MappedMetric(measures="size"),
            **_KAFKA_EXPORTER_LAGS,
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
            "TOPIC_BYTES_OUT": MappedMetric(measures="bytes_out", kind="rate", per="topic", brokers="sum"),
        },
    ),
    "kminion": SourceMapping(
        name="__name__",
        value="value",
        topic="topic_name",
        partition="partition_id",
        group="group_id",
        metrics={
            "kminion_kafka_topic_partition_high_water_mark": MappedMetric(measures="messages"),
            "kminion_kafka_topic_log_dir_size_total_bytes": MappedMetric(measures="size", per="topic"),
            "kminion_kafka_consumer_group_topic_partition_lag": MappedMetric(measures="lag"),
            "kminion_kafka_consumer_group_topic_lag": MappedMetric(measures="lag", per="topic"),
        },
    ),
    "kafka-exporter": SourceMapping(
        name="__name__",
        value="value",
        group="consumergroup",
        metrics={
            "kafka_topic_partition_current_offset": MappedMetric(measures="messages"),
            **_KAFKA_EXPORTER_LAGS,
        },
    ),
    "burrow": SourceMapping(
        name="__name__",
        value="value",
        group="group",
        metrics={
            "kafka_burrow_partition_lag": MappedMetric(measures="lag"),
            "kafka_burrow_topic_lag": MappedMetric(measures="lag", per="topic"),
        },
    ),
    "datadog": SourceMapping(
        name="__name__",
        value="value",
        broker="host",
        group="consumer_group",
        metrics={
            "kafka.topic.net.bytes_in.rate": MappedMetric(measures="bytes", kind="rate", per="topic", brokers="sum"),
            "kafka.topic.messages_in.rate": MappedMetric(measures="messages", kind="rate", per="topic", brokers="sum"),
            "kafka.log.partition.size": MappedMetric(measures="size"),
            "kafka.broker_offset": MappedMetric(measures="messages", brokers="largest"),
            "kafka.topic.net.bytes_out.rate": MappedMetric(
                measures="bytes_out", kind="rate", per="topic", brokers="sum"
            ),
            "kafka.consumer_lag": MappedMetric(measures="lag"),
            "aws.kafka.bytes_in_per_sec": MappedMetric(measures="bytes", kind="rate", per="topic", brokers="sum"),
            "aws.kafka.messages_in_per_sec": MappedMetric(measures="messages", kind="rate", per="topic", brokers="sum"),
            "aws.kafka.bytes_out_per_sec": MappedMetric(measures="bytes_out", kind="rate", per="topic", brokers="sum"),
            "aws.kafka.sum_offset_lag": MappedMetric(measures="lag", per="topic"),
        },
    ),
    "confluent-cloud": SourceMapping(
        name="__name__",
        value="value",
        group="consumer_group_id",
        metrics={
            "received_bytes": MappedMetric(measures="bytes", kind="rate", per="topic"),
            "received_records": MappedMetric(measures="messages", kind="rate", per="topic"),
            f"{_CONFLUENT}received_bytes": MappedMetric(measures="bytes", kind="rate", per="topic", seconds=60),
            f"{_CONFLUENT}received_records": MappedMetric(measures="messages", kind="rate", per="topic", seconds=60),
            "sent_bytes": MappedMetric(measures="bytes_out", kind="rate", per="topic"),
            f"{_CONFLUENT}sent_bytes": MappedMetric(measures="bytes_out", kind="rate", per="topic", seconds=60),
            "consumer_lag_offsets": MappedMetric(measures="lag"),
            f"{_CONFLUENT}consumer_lag_offsets": MappedMetric(measures="lag"),
        },
    ),
}
"""Built-in mappings by name.

Sources:
    jmx-exporter: examples/kafka-kraft-3_0_0.yml and example_configs/kafka-2_0_0.yml of prometheus/jmx_exporter, whose
    newer and older rules name the same meter …_total and …persec_count; Strimzi has the newer ones.
    msk: names of the JMX exporter without rules, as in the open monitoring of Amazon MSK: the label `name` has the
    name of the meter; "Consumer-group metrics" in the user guide of Amazon Managed Service for Prometheus.
    cruise-control: RawMetricType and CruiseControlMetric of linkedin/cruise-control.
    kminion: docs/metrics.md of redpanda-data/kminion. kafka-exporter: README.md of danielqsj/kafka_exporter.
    burrow: metrics of jirwin/burrow_exporter.
    datadog: kafka/metadata.csv, kafka_consumer/metadata.csv and amazon_msk/metadata.csv of DataDog/integrations-core.
    confluent-cloud: the Metrics Reference of Confluent Cloud, whose export for Prometheus has the sum of each minute.

Kafka counts bytes per topic only, and messages per partition only as the end offset.
"""


def find_mapping(text: str) -> NamedMapping:
    """Return a built-in mapping by name, or read one from a YAML file.

    Raises IngestError if neither exists, or the file is not a valid mapping.
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
