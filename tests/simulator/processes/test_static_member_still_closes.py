"""A static member of a streams group that starts while the one with its instance id is still closing."""

from __future__ import annotations

from scenarios.load import loads
from scenarios.run import run

SCENARIO = """
cluster:
  kafka: "4.4"
  brokers: {count: 1, racks: [az1]}
  topics: [{name: orders, partitions: 8, bytes_per_s: 1 MB/s}]
application:
  id: app
  kafka: "4.4"
  configs: {group.protocol: streams}
  subtopologies: [{sources: [orders]}]
assignors: [streams_group_sticky]
clients: [{name: app, count: 3, static_membership: true}]
events:
  - at: 10m
    rolling_update: {clients: app, kind: deployment, close: 20s, grace: 1m, start_after: 1s, max_surge: 0}
duration: 1h
"""


def test_it_joins_when_the_other_one_has_closed() -> None:
    scenario = loads(SCENARIO)
    first, *others = run(scenario, scenario.assignors[0]).rounds
    assert [(update.at_ms, update.reason) for update in others] == [
        (620_000, "app-2 is back as another process"),
        (660_000, "app-1 is back as another process"),
        (700_000, "app-0 is back as another process"),
    ]
    assert {tuple(update.owner.tolist()) for update in others} == {tuple(first.owner.tolist())}
