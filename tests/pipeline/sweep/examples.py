"""A small sweep and its scenario, and a variant with invalid settings."""

from __future__ import annotations

from pathlib import Path

SCENARIO = """
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 6, replication_factor: 2, bytes_per_s: 3 MB/s, size: 1 GB}
application:
  id: shop
  subtopologies:
    - sources: [orders]
      stores: [{name: totals, size: 600 MB, bytes_per_s: 100 kB/s}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: new, rack: az1, threads: 2, starts: false}
events:
  - {at: 10m, join: {clients: new}}
assignors: [high_availability, legacy_sticky]
duration: 2h
price: aws
"""

SWEEP = """
name: shop-sweep
scenario: shop.yaml
factors:
  - {name: standbys, path: application.configs.num.standby.replicas, values: [0, 1]}
  - {name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}
seeds: 3
"""

# Settings with the unknown client `missing` cannot be run.
BROKEN = SWEEP.replace("seeds: 3", "  - {name: who, path: 'events[0].join.clients', values: [new, missing]}\nseeds: 2")


def write_sweep(folder: Path, sweep: str = SWEEP, scenario: str = SCENARIO) -> Path:
    """Write a sweep and its scenario into a folder; return the sweep file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shop.yaml").write_text(scenario)
    (folder / "sweep.yaml").write_text(sweep)
    return folder / "sweep.yaml"
