"""A static member of the consumer protocol that restarts before it has given up partitions of its last target."""

from __future__ import annotations

from scenarios.load import loads
from scenarios.run import run
from tests.relations.figures import figures_of

SCENARIO = """
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 7, replication_factor: 2, bytes_per_s: 1000}]
consumers:
  - group: shop
    topics: [orders]
    clients:
      - {name: m, count: 4, static_membership: true, racks: [az1, az2], consumers: 2}
      - {name: m-own, count: 2, topics: [orders], racks: [az1, az2]}
    assignors: [broker-range]
    poll_interval: 4s
events:
  - {at: 60s, rolling_bounce: {clients: [m, m-own], down: 20s, pause: 2s}}
  - {at: 150s, crash: {clients: m-2, down: 1s}}
  - {at: 150s, rolling_bounce: {clients: [m, m-own], down: 20s, pause: 2s}}
duration: 1000s
seeds: [1]
"""


def test_others_get_the_partitions_that_it_does_not_take_over() -> None:
    scenario = loads(SCENARIO)
    trace = run(scenario, scenario.assignors[0])
    last = {row["task"]: row["state"] for row in figures_of(trace)["task_states"]}
    assert last == {f"orders-{number}": "running" for number in range(7)}
