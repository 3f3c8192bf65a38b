"""Mapping of raw rows to common columns, with validation, as Spark expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pipeline.ingest.mapping import MappedMetric, SourceMapping
from pipeline.ingest.parquet_worker import DAY_MS, LIMIT, NANOSECONDS, SCALES_TO_MS, YEAR_2000_MS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE_TOPIC = -1
"""The partition of values that are measured per topic."""

MEASURES = ("bytes", "messages", "size", "bytes_out", "lag")

UNKNOWN_LAG = -1
"""The lag that exporters report for a partition without a committed offset."""

_POSITION_AND_TEXT = ("file", "block", "row", "raw")

_NOT_DECIMAL = "[dDfFxX]"
"""Letters in hexadecimal numbers, infinity and Java's literals such as `5f`, which Spark's cast accepts."""


@dataclass(frozen=True, slots=True)
class RowMapper:
    """Maps raw rows to common columns.

    Raw rows have `fields` (a struct), `broken` (why the row could not be parsed; null if it could) and `written` (when
    the file was modified).

    Attributes:
        mapping: the meaning of the fields.
        types: Spark type of each field.
    """

    mapping: SourceMapping
    types: Mapping[str, str]

    @classmethod
    def of(cls, raw: DataFrame, mapping: SourceMapping) -> RowMapper:
        """Create a mapper for the fields of `raw`."""
        fields: Any = raw.schema["fields"].dataType
        return cls(mapping, {field.name: field.dataType.typeName() for field in fields.fields})

    def apply(self, raw: DataFrame) -> DataFrame:
        """Replace the fields by the common columns of `rows.read_rows`."""
        from pyspark.sql import functions as fn

        columns = {
            "topic": self._key(self.mapping.topic),
            "partition": self._partition(),
            "broker": self._key(self.mapping.broker),
            "group": self._key(self.mapping.group),
            "metric": self._metric(),
            "time": self._milliseconds(self.mapping.time),
            "received": self._milliseconds(self.mapping.received),
            **{measure: self._measured(measure) for measure in MEASURES},
            "counter": self._by_metric(lambda metric: metric.kind == "counter", self.mapping.kind == "counter"),
            "brokers": self._by_metric(lambda metric: metric.brokers, "each"),
            "per_topic": self._per_topic(),
            "ignored": self._ignored(),
            "bad_value": fn.coalesce(*(self._value_fault(name, value) for name, value in self._values().items())),
        }
        named = raw.select(
            *(column.alias(name) for name, column in columns.items()), *_POSITION_AND_TEXT, "written", "broken"
        )
        reason = fn.when(~fn.col("ignored"), fn.coalesce(*self._faults()))
        return named.withColumn("reason", reason).drop("written", "broken", "bad_value", "per_topic")

    def _faults(self) -> list[Column]:
        """Return the checks of a row: a reason if it fails, else null; the first reason is reported."""
        from pyspark.sql import functions as fn

        mapping, time, partition = self.mapping, fn.col("time"), fn.col("partition")
        no_partition = partition.isNull() | ((partition < 0) & ~fn.col("per_topic"))
        measured = reduce(or_, (fn.col(measure).isNotNull() for measure in MEASURES))
        return [
            fn.col("broken"),
            fn.when(time.isNull(), fn.lit(f"{mapping.time}: not a time")),
            fn.when(time < YEAR_2000_MS, fn.lit(f"{mapping.time}: before the year 2000")),
            fn.when(
                time > fn.unix_millis(fn.col("written")) + DAY_MS,
                fn.lit(f"{mapping.time}: after the file was written"),
            ),
            fn.when(fn.col("topic").isNull(), fn.lit(f"{mapping.topic}: missing")),
            fn.when(no_partition, fn.lit(f"{mapping.partition}: not a partition number")),
            fn.when(fn.col("lag").isNotNull() & fn.col("group").isNull(), fn.lit(f"{mapping.group}: missing")),
            fn.col("bad_value"),
            fn.when(~measured, fn.lit("no measured value")),
        ]

    def _field(self, name: str | None) -> Column:
        from pyspark.sql import functions as fn

        return fn.lit(None).cast("string") if name not in self.types else fn.col("fields").getField(name or "")

    def _key(self, name: str | None) -> Column:
        """Return a key of the series: a column or a label."""
        from pyspark.sql import functions as fn

        if self.mapping.labels is None or name is None:
            return fn.nullif(self._field(name).cast("string"), fn.lit(""))
        labels = self._field(self.mapping.labels).cast("string")
        written = fn.regexp_extract(labels, f'(?:^|[{{,\\s]){name}="((?:[^"\\\\]|\\\\.)*)"', 1)
        return fn.nullif(fn.coalesce(fn.get_json_object(labels, f"$['{name}']"), written), fn.lit(""))

    def _partition(self) -> Column:
        from pyspark.sql import functions as fn

        return fn.when(self._per_topic(), fn.lit(WHOLE_TOPIC)).otherwise(
            self._key(self.mapping.partition).try_cast("int")
        )

    def _per_topic(self) -> Column:
        return self._by_metric(lambda metric: metric.per == "topic", self.mapping.partition is None)

    def _metric(self) -> Column:
        from pyspark.sql import functions as fn

        name = self._field(self.mapping.name).cast("string")
        return name if self.mapping.qualifier is None else fn.concat_ws(":", name, self._key(self.mapping.qualifier))

    def _by_metric(self, property_of: Callable[[MappedMetric], object], wide_value: object) -> Column:
        """Return a property of the row's metric, or the property of all rows of a wide source."""
        from pyspark.sql import functions as fn

        if not self.mapping.is_long:
            return fn.lit(wide_value)
        names_by_property: dict[object, list[str]] = {}
        for name, metric in self.mapping.metrics.items():
            names_by_property.setdefault(property_of(metric), []).append(name)
        first, *others = names_by_property
        return reduce(
            lambda rest, value: fn.when(self._metric().isin(*names_by_property[value]), fn.lit(value)).otherwise(rest),
            others,
            fn.lit(first),
        )

    def _ignored(self) -> Column:
        """Return whether the row is ignored.

        Prometheus has other metrics, too, and totals over all topics under the names of topic metrics. Lags of
        partitions without a committed offset are unknown.
        """
        from pyspark.sql import functions as fn

        if not self.mapping.is_long:
            return fn.lit(False)
        known = self._metric().isin(*self.mapping.metrics) & self._key(self.mapping.topic).isNotNull()
        if lags := [name for name, metric in self.mapping.metrics.items() if metric.measures == "lag"]:
            is_unknown = self._metric().isin(*lags) & (self._number(self.mapping.value) == UNKNOWN_LAG)
            known &= ~fn.coalesce(is_unknown, fn.lit(False))
        return fn.col("broken").isNull() & ~fn.coalesce(known, fn.lit(False))

    def _values(self) -> dict[str, Column]:
        """Return the fields with values; null where empty."""
        from pyspark.sql import functions as fn

        mapping = self.mapping
        names = (mapping.value,) if mapping.is_long else (mapping.bytes, mapping.messages)
        return {
            name: fn.nullif(self._field(name).cast("string"), fn.lit(""))
            if self.types.get(name) == "string"
            else self._field(name)
            for name in names
            if name is not None
        }

    def _measured(self, measure: str) -> Column:
        from pyspark.sql import functions as fn

        mapping = self.mapping
        if not mapping.is_long:
            return self._number({"bytes": mapping.bytes, "messages": mapping.messages}.get(measure))
        measured = {name: metric for name, metric in mapping.metrics.items() if metric.measures == measure}
        number = self._number(mapping.value)
        for name, metric in measured.items():
            if metric.seconds != 1:
                number = fn.when(self._metric() == name, self._number(mapping.value) / metric.seconds).otherwise(number)
        return fn.when(self._metric().isin(*measured), number)

    def _number(self, name: str | None) -> Column:
        """Return a field as `double`; null if it is not a decimal number."""
        from pyspark.sql import functions as fn

        field = self._field(name)
        number = field.try_cast("double")
        is_text = self.types.get(name or "") == "string"
        return fn.when(~field.rlike(_NOT_DECIMAL), number) if is_text else number

    def _value_fault(self, name: str, value: Column) -> Column:
        """Return what is wrong with a value; null if it is valid or missing."""
        from pyspark.sql import functions as fn

        number = self._number(name)
        # Spark orders NaN above infinity.
        good = fn.coalesce((number >= 0) & (number < float("inf")), fn.lit(False))
        fault = fn.when(~good, fn.lit(f"{name}: not a number ≥ 0"))
        return fn.when(value.isNotNull(), fn.coalesce(fault, fn.when(number >= LIMIT, fn.lit(f"{name}: 2^63 or more"))))

    def _milliseconds(self, name: str | None) -> Column:
        from pyspark.sql import functions as fn

        field, kind = self._field(name), self.types.get(name or "")
        if name not in self.types:
            return fn.lit(None).cast("bigint")
        if kind in ("timestamp", "timestamp_ntz", "date"):
            return fn.unix_millis(field.try_cast("timestamp"))
        number = self._number(name)
        scale = fn.lit(NANOSECONDS)
        for bound, factor in reversed(SCALES_TO_MS):
            scale = fn.when(fn.abs(number) < bound, fn.lit(factor)).otherwise(scale)
        scaled = _rounded(_within_limit(number * scale))
        return scaled if kind != "string" else fn.coalesce(scaled, fn.unix_millis(fn.try_to_timestamp(field)))


def _within_limit(number: Column) -> Column:
    """Return the number; null if it is NaN, infinite or beyond LIMIT."""
    from pyspark.sql import functions as fn

    # Spark orders NaN above infinity.
    return fn.when(fn.abs(number) < LIMIT, number)


def _rounded(number: Column) -> Column:
    """Round to a `bigint`; Spark rounds by decimal numbers, which is slow, and most numbers are whole."""
    from pyspark.sql import functions as fn

    whole = fn.floor(number)
    return fn.when(number == whole.cast("double"), whole).otherwise(fn.round(number).cast("bigint"))
