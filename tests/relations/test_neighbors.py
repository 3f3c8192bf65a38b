"""Applications that run on the same brokers and hosts."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors import registry
from assignors.model.assignment import TaskAssignor
from simulator.brokers.coordinator import coordinator_replicas
from simulator.flows.execution import Execution
from simulator.processes.neighbors import Neighbor, simulate_alongside
from simulator.processes.run_options import RunOptions
from simulator.results.trace import Trace
from simulator.world.world import ClientHost, World
from tests.relations.figures import Figures, check_same, figures, figures_of
from tests.relations.relation import relation
from tests.relations.worlds import WorldLimits, assignors, worlds
from tests.simulator.invariants import InvariantChecker

pytestmark = pytest.mark.answers

HIGH_AVAILABILITY = registry.make(registry.find("high_availability"))
WITH_RACKS = WorldLimits(hides_racks=False)
STATELESS = WorldLimits(hides_racks=False, has_state=False)


def as_application(base: World, name: str) -> World:
    """Return the world with another application.id, and clients named after it."""
    return dataclasses.replace(base, application=dataclasses.replace(base.application, id=name))


def with_broker_limit(base: World, bytes_per_s: int | None) -> World:
    brokers = tuple(dataclasses.replace(broker, restore_bytes_per_s=bytes_per_s) for broker in base.cluster.brokers)
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, brokers=brokers))


def on_hosts(base: World, names: Sequence[str], bytes_per_s: int) -> World:
    """Return the world with its clients on hosts, round-robin."""
    clients = tuple(
        dataclasses.replace(client, host=name)
        for client, name in zip(base.clients, itertools.cycle(names), strict=False)
    )
    hosts = tuple(ClientHost(name, bytes_per_s) for name in dict.fromkeys(names))
    return dataclasses.replace(base, clients=clients, hosts=hosts)


def on_one_cluster(*drawn: World) -> list[World]:
    """Return worlds on the brokers of the largest cluster, each as another application with its own disturbances."""
    brokers = max((base.cluster.brokers for base in drawn), key=len)
    return [
        as_application(
            dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, brokers=brokers)), f"app-{number}"
        )
        for number, base in enumerate(drawn)
    ]


def run_together(first: World, *others: World, assignor: TaskAssignor = HIGH_AVAILABILITY) -> Trace:
    """Simulate applications together."""
    trace = simulate_alongside(first, assignor, neighbors=[Neighbor(other, assignor) for other in others])
    assert trace.failure is None
    return trace


def own_figures(trace: Trace) -> Figures:
    """Return the rows of all result tables, without those on neighbors."""
    return figures_of(dataclasses.replace(trace, neighbors=()))


def limits_of_hosts() -> st.SearchStrategy[int]:
    return st.sampled_from((3_000, 700_000, 8_000_000))


@relation(10)
@given(worlds(WITH_RACKS), worlds(WITH_RACKS), limits_of_hosts(), assignors())
def test_applications_without_common_limits(near: World, far: World, limit: int, assignor: TaskAssignor) -> None:
    """Applications on different hosts and unlimited brokers have the figures that they have alone."""
    first, second = on_one_cluster(with_broker_limit(near, None), with_broker_limit(far, None))
    first, second = on_hosts(first, ("h0", "h1"), limit), on_hosts(second, ("h2",), limit)
    trace = run_together(first, second, assignor=assignor)
    assert own_figures(trace) == figures(first, assignor)
    assert figures_of(trace.neighbors[0]) == figures(second, assignor)


@relation(10)
@given(worlds(WITH_RACKS), worlds(STATELESS), limits_of_hosts(), assignors())
def test_idle_neighbor(base: World, idle: World, limit: int, assignor: TaskAssignor) -> None:
    """A neighbor without state on the same limited brokers and hosts changes no figure."""
    first, second = on_one_cluster(base, idle)
    first, second = on_hosts(first, ("h0", "h1"), limit), on_hosts(second, ("h1",), limit)
    assert own_figures(run_together(first, second, assignor=assignor)) == figures(first, assignor)


@relation(10)
@given(worlds(WITH_RACKS), worlds(WITH_RACKS), worlds(WITH_RACKS), limits_of_hosts(), assignors())
def test_order_of_neighbors(base: World, other: World, third: World, limit: int, assignor: TaskAssignor) -> None:
    """The figures of an application do not depend on the order of its neighbors, and all stay within the limits."""
    applications = [on_hosts(base, ("h0", "h1"), limit) for base in on_one_cluster(base, other, third)]
    check = CheckAll(applications)
    first, *neighbors = [Neighbor(application, assignor) for application in applications]
    traces = [
        simulate_alongside(first.world, assignor, neighbors=ordered, options=RunOptions(observe=check))
        for ordered in (neighbors, neighbors[::-1])
    ]
    assert check.num_executions == 6
    assert figures_of(traces[0]) == figures_of(traces[1])
    for trace, other in zip(traces[0].neighbors, traces[1].neighbors, strict=True):
        assert figures_of(trace) == figures_of(other)


@relation(10)
@given(worlds(WITH_RACKS), st.sampled_from((None, 40_000, 300_000)), limits_of_hosts(), assignors())
def test_equal_applications(base: World, broker: int | None, limit: int, assignor: TaskAssignor) -> None:
    """Two equal applications with twice the bandwidth of brokers and hosts have the figures of one alone."""
    base = on_hosts(with_broker_limit(base, broker), ("h0", "h1"), limit)
    twice = on_hosts(with_broker_limit(base, broker and 2 * broker), ("h0", "h1"), 2 * limit)
    others = (as_application(twice, f"other-{number}") for number in itertools.count())
    # The events name the replicas of the coordinator's partition.
    other = next(world for world in others if coordinator_replicas(world) == coordinator_replicas(base))
    trace = run_together(twice, other, assignor=assignor)
    alone = figures(base, assignor)
    check_same(own_figures(trace), alone, exact=False)
    check_same(figures_of(trace.neighbors[0]), alone, exact=False)


class CheckAll:
    """Checks the invariants of every application after each change."""

    def __init__(self, applications: Sequence[World]) -> None:
        self._applications = applications
        self._checkers: dict[Execution, InvariantChecker] = {}

    @property
    def num_executions(self) -> int:
        return len(self._checkers)

    def __call__(self, execution: Execution) -> None:
        if execution not in self._checkers:
            # The tasks and the racks of an execution do not say which application it is, but its limits do.
            index = execution.restoration.rates._bandwidth.index
            self._checkers[execution] = InvariantChecker(self._applications[index])
        self._checkers[execution](execution)
