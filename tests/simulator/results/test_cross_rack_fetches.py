"""Partitions that are fetched across racks, counted from the owners and replicas of random groups."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

from scenarios.load import Scenario, loads
from scenarios.run import run
from simulator.results.run_summary import CrossRackFetches, cross_rack_fetches
from simulator.results.trace import Trace

SELECTOR = "replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = ("az1", "az2", "az3")


def scenario(configs: str, client_rack: bool, replication_factor: int, count: int) -> Scenario:
    return loads(f"""
cluster:
  brokers: {{count: 6, racks: [az1, az2, az3]}}
  configs: {{{configs}}}
  topics: [{{name: orders, partitions: 17, replication_factor: {replication_factor}, bytes_per_s: 17 kB/s}}]
consumers:
  - group: billing
    topics: [orders]
    clients: [{{name: app, count: {count}, racks: [az1, az2, az3], client_rack: {str(client_rack).lower()}}}]
duration: 10m
""")


def simulated(scenario: Scenario, seed: int) -> Trace:
    return run(scenario, "range", seed)


@pytest.mark.parametrize("seed", range(1, 9))
def test_bytes_across_racks_are_those_of_the_partitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near, announces = bool(rng.integers(2)), bool(rng.integers(2))
    of = scenario(SELECTOR if near else "", announces, int(rng.integers(1, 4)), int(rng.integers(1, 6)))
    trace = simulated(of, seed)
    fetches = cross_rack_fetches(trace)
    assert fetches is not None
    [matrix] = [matrix for kind, matrix in trace.rounds[-1].steady_state.items() if kind == "source_read"]
    # Each partition is produced to with 1 kB/s.
    assert fetches.partitions == round((matrix.sum() - matrix.trace()) / 1000)
    assert 0 <= fetches.bound <= fetches.partitions <= 17


def test_bound_counts_partitions_without_a_replica_near_any_consumer() -> None:
    trace = simulated(scenario(SELECTOR, True, 3, 1), 1)
    assert cross_rack_fetches(trace) == CrossRackFetches(0, 0, None)
    single = simulated(scenario(SELECTOR, True, 1, 1), 1)
    racks = {broker.id: broker.rack for broker in single.world.cluster.brokers}
    elsewhere = sum(racks[replicas[0]] != "az1" for replicas in single.world.cluster.topics["orders"].replicas)
    assert cross_rack_fetches(single) == CrossRackFetches(elsewhere, elsewhere, None)


@pytest.mark.parametrize("seed", range(1, 9))
def test_avoidable_cost_is_that_of_each_pair_of_racks(seed: int) -> None:
    """With consumers in one rack, partitions without a replica there cost what no assignment avoids."""
    rng = np.random.default_rng(seed)
    factor, count = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    prices = {(source, target): round(0.01 * (1 + n), 2) for n, (source, target) in enumerate(permutations(RACKS, 2))}
    pairs = [{"from": source, "to": target, "usd_per_gb": usd} for (source, target), usd in prices.items()]
    price = {"provider": "mine", "usd_per_gb": 9, "pairs": pairs}
    text = scenario("", True, factor, count).text
    trace = simulated(loads(f"{text}price: {json.dumps(price)}\n"), seed)
    near = {RACKS[number] for number in range(count)}
    rack_of = {broker.id: broker.rack for broker in trace.world.cluster.brokers}
    usd = 0.0
    for task, owner in zip(trace.layout.tasks.ids, trace.rounds[-1].owner.tolist(), strict=True):
        topic = trace.world.cluster.topics["orders"]
        replicas, leader = topic.replicas[task.partition], rack_of[topic.leaders[task.partition]]
        rack = trace.world.clients[owner].rack
        if leader != rack and {rack_of[broker] for broker in replicas} & near:
            usd += 1_000 * 86_400 / 1e9 * prices[str(leader), str(rack)]
    fetches = cross_rack_fetches(trace)
    assert fetches is not None
    assert fetches.avoidable_usd_per_day == pytest.approx(usd)


def test_unknown_racks_give_no_figure() -> None:
    text = scenario("", True, 1, 2).text.replace("racks: [az1, az2, az3], client_rack: true", "consumers: 1")
    assert cross_rack_fetches(simulated(loads(text), 1)) is None
