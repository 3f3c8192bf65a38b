"""What ingest should say of generated measurements, worked out from clean ones with NumPy alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ["topic", "partition"]
SHAPES = {"p50": 50, "p95": 95, "p99": 99}
HOUR_S = 3_600


def expected_rates(clean: Path, faults: pd.DataFrame, interval_s: int) -> pd.DataFrame:
    """Rates by topic, partition and hour: those of clean counters without the intervals that planted faults spoil."""
    rows = []
    spoilt = {key: _spoilt(found) for key, found in faults.groupby(KEYS)}
    for key, counted in pd.read_parquet(clean / "metrics").sort_values("timestamp").groupby(KEYS):
        slots = np.arange(1, len(counted))
        kept = ~np.isin(slots, sorted(spoilt.get(key, set())))
        hours = ((slots - 0.5) * interval_s // HOUR_S % 24).astype(int)
        rates = {
            "bytes": np.diff(counted["bytes_in_total"]) / interval_s,
            "messages": np.diff(counted["messages_in_total"]) / interval_s,
        }
        for hour in range(24):
            there = kept & (hours == hour)
            row = {"topic": key[0], "partition": key[1], "hour": hour, "samples": int(there.sum())}
            for what, rate in rates.items():
                row[f"{what}_per_s_mean"] = rate[there].mean()
                row |= {f"{what}_per_s_{name}": np.percentile(rate[there], at) for name, at in SHAPES.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def _spoilt(faults: pd.DataFrame) -> set[int]:
    """The samples that are missing or whose interval cannot be told, of one partition."""
    found: set[int] = set()
    for fault in faults.itertuples():
        if fault.kind == "gaps":
            found |= set(range(fault.slot, fault.slot + fault.length + 1))
        elif fault.kind == "resets":
            found.add(fault.slot)
    return found
