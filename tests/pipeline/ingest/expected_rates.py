"""Expected rates of generated measurements, computed from clean ones with NumPy only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ["topic", "partition"]
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
HOUR_S = 3_600


def expected_rates(clean: Path, faults: pd.DataFrame, interval_s: int) -> pd.DataFrame:
    """Return rates by topic, partition and hour, from clean counters without the intervals with injected faults."""
    rows = []
    faulty = {key: _faulty_slots(of_key) for key, of_key in faults.groupby(KEYS)}
    for key, counted in pd.read_parquet(clean / "metrics").sort_values("timestamp").groupby(KEYS):
        slots = np.arange(1, len(counted))
        kept = ~np.isin(slots, sorted(faulty.get(key, set())))
        hours = ((slots - 0.5) * interval_s // HOUR_S % 24).astype(int)
        rates = {
            "bytes": np.diff(counted["bytes_in_total"]) / interval_s,
            "messages": np.diff(counted["messages_in_total"]) / interval_s,
        }
        for hour in range(24):
            in_hour = kept & (hours == hour)
            row = {"topic": key[0], "partition": key[1], "hour": hour, "samples": int(in_hour.sum())}
            for what, rate in rates.items():
                row[f"{what}_per_s_mean"] = rate[in_hour].mean()
                row |= {f"{what}_per_s_{name}": np.percentile(rate[in_hour], at) for name, at in PERCENTILES.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def _faulty_slots(faults: pd.DataFrame) -> set[int]:
    """Return the samples of a partition that are missing or whose interval is unknown."""
    slots: set[int] = set()
    for fault in faults.itertuples():
        if fault.kind == "gaps":
            slots |= set(range(fault.slot, fault.slot + fault.length + 1))
        elif fault.kind == "resets":
            slots.add(fault.slot)
    return slots
