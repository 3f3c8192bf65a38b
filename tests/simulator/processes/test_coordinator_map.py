"""A real group of the consumer protocol in which the ids of two members share a bin of the coordinator's map.

Which of `b` and `c` keeps more partitions when `d` joins depends on the order of the map, and so do all later targets.
"""

from __future__ import annotations

from scenarios.load import loads
from scenarios.run import run

SCENARIO = """
cluster:
  kafka: "4.3"
  brokers: {count: 1, racks: [az1]}
  topics:
    - {name: orders, partitions: 12, id: 78tBlxnQTSi8MYX91C8bGg}
    - {name: payments, partitions: 5, id: JZOnU2NZRwap73QjSvdRRw}
consumers:
  - group: billing
    topics: [orders, payments]
    configs: {group.protocol: consumer}
    assignors: [uniform]
    clients:
      - {name: a, process_id: 563cdebe-d8ec-4c39-bdc9-0f2935354f49}
      - {name: b, process_id: 97c663a5-f916-4760-8816-b5fcd850ac4c, starts: false}
      - {name: c, process_id: 293a7dca-3d3b-4b8c-bc38-a398824bec00, starts: false}
      - {name: d, process_id: c889cd11-ede7-49b0-929d-684743de4d88, starts: false}
events:
  - {at: 5s, join: {clients: b}}
  - {at: 8s, join: {clients: c}}
  - {at: 12s, join: {clients: d}}
  - {at: 16s, leave: {clients: b}}
  - {at: 20s, crash: {clients: c}}
duration: 3m
"""
TARGETS = (
    "aaaaaaaaaaaa aaaaa",
    "aaaabbbbbbbb aaaaa",
    "acccbbbbbbcc aaaaa",
    "dcccbbbbddcc aaaad",
    "dcccddaaddcc aaaad",
    "dddaddaaddaa aaaad",
)
"""Owners of the partitions of both topics in each target, in the `__consumer_offsets` of a broker of Kafka 4.3.1."""


def test_targets_are_those_of_the_real_coordinator() -> None:
    trace = run(loads(SCENARIO), "uniform")
    names = [client.name for client in trace.world.clients]
    targets = ["".join(names[row] for row in round.owner.tolist()) for round in trace.rounds]
    assert targets == [target.replace(" ", "") for target in TARGETS]
