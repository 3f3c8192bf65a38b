"""A small scenario to spoil, and what is said about it then."""

from __future__ import annotations

from scenarios.load import Scenario, ScenarioError, loads

SMALL = """\
name: small
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  configs: {default.replication.factor: 2}
  topics:
    - {name: orders, partitions: 4, bytes_per_s: 4 MB/s, size: 8 GB}
    - {name: payments, partitions: 4}
application:
  id: shop
  configs: {num.standby.replicas: 1}
  subtopologies:
    - sources: [orders]
      repartition: [{name: by-customer, bytes_per_s: 2 MB/s}]
    - sources: [by-customer, payments]
      stores: [{name: totals, size: 1 GB}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: late, rack: az1, starts: false}
events:
  - {at: 30m, scale_out: {clients: late}}
assignors: [high_availability]
duration: 2h
"""


def understood(text: str, *overrides: tuple[str, str]) -> Scenario:
    """The scenario; its mistakes are shown where there should be none."""
    return loads(text, "s.yaml", overrides)


def told(text: str, *overrides: tuple[str, str]) -> list[str]:
    """What is said about a text, a line a mistake; empty if it is fine."""
    try:
        loads(text, "s.yaml", overrides)
    except ScenarioError as error:
        return str(error).splitlines()
    return []


def spoiled(before: str, after: str) -> str:
    """The small scenario with one passage replaced, which has to be there."""
    assert SMALL.count(before) == 1, before
    return SMALL.replace(before, after)
