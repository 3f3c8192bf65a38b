"""Samples aggregated by hour of the day as NumPy arrays; does not import Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.ingest.sample_arrays import Integers, Numbers, Samples

COUNTS = ("duplicates", "conflicts", "late", "resets", "gaps", "missing")

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

RATES = ("bytes_per_s", "messages_per_s")

_SHARES = np.array(list(PERCENTILES.values()))
_UNKNOWN = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each sample; groups are numbered from 0 without gaps, and samples keep their order.

    Attributes:
        group: number of the group; shape (samples,).
        order: the samples by group; shape (samples,).
        sizes: number of samples; shape (groups,).
        starts: where the samples of each group start in `order`; shape (groups,).
    """

    group: Integers
    order: Integers
    sizes: Integers
    starts: Integers

    @classmethod
    def of(cls, group: Integers) -> Groups:
        """Sort samples by group."""
        sizes = np.bincount(group)
        # NumPy sorts small numbers by radix.
        small = group.astype(np.uint16) if len(sizes) <= np.iinfo(np.uint16).max else group
        return cls(group, np.argsort(small, kind="stable"), sizes, np.cumsum(sizes) - sizes)


def aggregate_samples(samples: Samples, groups: Groups, apart: int) -> dict[str, pa.Array]:
    """Aggregate samples by group.

    Args:
        samples: the samples.
        groups: their groups.
        apart: number of samples at the beginning that are summed apart.

    Returns:
        Columns by name, of one row per group: the last ones of `hourly_distribution.aggregate_by_hour`, from `rows` on.
    """
    columns = {"rows": pa.array(groups.sizes)}
    sampled = []
    distributions = {}
    for name, rate in zip(RATES, samples.rates, strict=True):
        valid = ~np.isnan(rate)
        sizes = np.bincount(groups.group[valid], minlength=len(groups.sizes))
        sampled.append(sizes)
        total = _sums(np.where(valid, rate, 0.0), groups.group, apart, len(sizes))
        mean = total / np.maximum(sizes, 1)
        distributions[f"{name}_mean"] = pa.array(mean, mask=sizes == 0)
        distributions[f"{name}_percentiles"] = _percentiles(rate[groups.order], sizes)
    columns["samples"] = pa.array(np.maximum(*sampled))
    columns |= distributions
    for name in COUNTS:
        counted = np.bincount(groups.group, weights=samples.counts[name], minlength=len(groups.sizes))
        columns[name] = pa.array(counted.astype(np.int64))
    interval = np.where(samples.interval_known, samples.interval_ms, _UNKNOWN)
    shortest = np.minimum.reduceat(interval[groups.order], groups.starts)
    columns["interval_ms"] = pa.array(shortest, mask=shortest == _UNKNOWN)
    columns["skew_ms"] = pa.array(_largest_skew(samples.skew_ms, groups, apart))
    time = samples.time[groups.order]
    columns["first_ms"] = pa.array(np.minimum.reduceat(time, groups.starts))
    columns["last_ms"] = pa.array(np.maximum.reduceat(time, groups.starts))
    return columns


def _sums(values: Numbers, group: Integers, apart: int, count: int) -> Numbers:
    """Sum values one after the other, as Spark does; NumPy's sums of arrays have another order."""
    later = np.bincount(group[apart:], weights=values[apart:], minlength=count).astype(np.float64)
    if not apart:
        return later
    total: Numbers = later + np.bincount(group[:apart], weights=values[:apart], minlength=count)
    return total


def _percentiles(rate: Numbers, sizes: Integers) -> pa.Array:
    """Return the percentiles of each group, null without values.

    Args:
        rate: rates by group, NaN where it is not a sample; shape (samples,).
        sizes: number of samples of each group; shape (groups,).
    """
    values = rate[~np.isnan(rate)]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        values[start:end].sort()
    present = sizes > 0
    position = (sizes[present, None] - 1) * _SHARES
    lower, higher = np.floor(position).astype(np.int64), np.ceil(position).astype(np.int64)
    first = starts[present, None]
    below, above = values[first + lower], values[first + higher]
    with np.errstate(invalid="ignore"):
        between = below + (position - lower) * (above - below)
    percentiles = np.where((lower == higher) | (below == above), below, between)
    offsets = np.append(0, np.cumsum(present * len(_SHARES))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(percentiles.ravel()), mask=pa.array(~present))


def _largest_skew(skew: Integers, groups: Groups, apart: int) -> Integers:
    """Return the skew of the largest absolute value; of equal ones that of the last reading summed apart, if any."""
    if not skew.any():
        return np.zeros(len(groups.sizes), np.int64)
    size = np.abs(skew)
    largest = np.maximum.reduceat(size[groups.order], groups.starts)
    found = np.flatnonzero(size == largest[groups.group])
    in_order = np.concatenate([found[found >= apart], found[found < apart]])
    last = np.zeros(len(groups.sizes), np.int64)
    # The last assignment counts.
    last[groups.group[in_order]] = in_order
    return skew[last]
