"""Applications on the same brokers and hosts, by example."""

from __future__ import annotations

import dataclasses

import pytest

from assignors import registry
from simulator.processes.simulation import simulate
from simulator.world.disturbances import RackOutage
from simulator.world.world import Start, World
from tests.relations.figures import figures_of
from tests.relations.test_neighbors import as_application, on_hosts, run_together, with_broker_limit
from tests.simulator.world_builders import MINUTE, with_clients, with_configs, world

HIGH_AVAILABILITY = registry.make(registry.find("high_availability"))


def restoring_world() -> World:
    """Return a world that restores 3.6 GB from brokers with 5 MB/s each at its start, on two clients."""
    base = with_broker_limit(world(2, start=Start.COLD, duration_ms=60 * MINUTE), 5_000_000)
    return with_clients(with_configs(base, num_standby_replicas=0), restore_bytes_per_s=100_000_000)


def test_two_restorations_take_twice_as_long() -> None:
    base = restoring_world()
    trace = run_together(base, as_application(base, "other"))
    [alone], [together], [neighbor] = (
        figures_of(run)["runs"] for run in (simulate(base, HIGH_AVAILABILITY), trace, trace.neighbors[0])
    )
    assert together == {**neighbor, "scenario": together["scenario"]}
    assert alone["restored_bytes"] > 3_000_000_000
    assert 1.9 < together["worst_downtime_ms"] / alone["worst_downtime_ms"] < 2.1


def test_neighbor_that_stops_restoring_leaves_its_bandwidth() -> None:
    """An application with a tenth of the state is done early; the other one then reads at full speed."""
    base = restoring_world()
    topics = dict(base.cluster.topics)
    changelog = topics["app-counts-changelog"]
    topics[changelog.name] = dataclasses.replace(changelog, size_bytes=(60_000_000,) * 6)
    small = dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))
    trace = run_together(base, as_application(small, "small"))
    alone = simulate(base, HIGH_AVAILABILITY).downtime_ms.max()
    # The small one reads 60 MB a task at half the rate, in which time the large one loses as much.
    lost_ms = trace.downtime_ms.max() - alone
    assert trace.neighbors[0].downtime_ms.max() == pytest.approx(2 * 60_000_000 / 5_000, rel=0.1)
    assert lost_ms == pytest.approx(60_000_000 / 5_000, rel=0.1)


def test_clients_of_one_application_share_their_host() -> None:
    base = with_broker_limit(restoring_world(), None)
    apart = simulate(with_clients(base, restore_bytes_per_s=5_000_000), HIGH_AVAILABILITY)
    host = simulate(on_hosts(base, ("h0",), 10_000_000), HIGH_AVAILABILITY)
    unlimited = simulate(base, HIGH_AVAILABILITY)
    assert host.downtime_ms.max() == pytest.approx(apart.downtime_ms.max(), rel=0.01)
    assert host.downtime_ms.max() > 5 * unlimited.downtime_ms.max()


def test_rack_outage_hits_both() -> None:
    outage = RackOutage(20 * MINUTE, "az1", 10 * MINUTE)
    base = dataclasses.replace(restoring_world(), start=Start.WARM, disturbances=(outage,))
    trace = run_together(base, as_application(base, "other"))
    assert trace.neighbors[0].final_totals.restored_bytes > 0
    assert figures_of(trace)["runs"] == figures_of(trace.neighbors[0])["runs"]
