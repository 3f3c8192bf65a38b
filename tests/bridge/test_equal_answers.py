"""Kafka's assignors in Java, and their reimplementations, give equal results of whole simulations.

The leader takes no time to compute in either: Java's time is not that of the run, so neither records its work.
`BRIDGE_WORLDS=2000` compares more random worlds than usual.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from assignors import registry
from assignors.contract import is_same
from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.state import ApplicationState
from scenarios.load import Scenario, load
from scenarios.run import run
from scenarios.shipped import list_applications
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.world.world import World
from tests.relations.worlds import worlds
from tools.known_problems import LARGER, SMALLEST, UnsettledGroup

pytestmark = pytest.mark.kafka

WORLDS = int(os.environ.get("BRIDGE_WORLDS", "30"))
EVERY = int(os.environ.get("BRIDGE_EVERY", "3"))
"""With 3, each assignor runs every third shipped scenario, and each scenario has every third assignor."""

PAIRS = {
    "java:kafka-streams@4.4.0:high_availability": "high_availability",
    "java:kafka-streams@3.8.1:high_availability": "high_availability",
    "java:kafka-streams@4.2.2:legacy_sticky": "legacy_sticky",
    "java:kafka-streams@4.3.1:sticky_task_assignor": "sticky_task_assignor@4.3",
    "java:kafka-streams@4.4.0:sticky_task_assignor": "sticky_task_assignor",
    "java:kafka-streams@3.9.2:fallback_prior": "fallback_prior",
    "java:group-coordinator@4.2.1:sticky": "streams_group_sticky@4.2.1",
    "java:group-coordinator@4.2.2:sticky": "streams_group_sticky@4.2",
    "java:group-coordinator@4.3.1:sticky": "streams_group_sticky@4.3",
    "java:group-coordinator@4.4.0:sticky": "streams_group_sticky@4.4",
}
OPTIONS = RunOptions(max_rebalances=60)
"""Some assignors rebalance forever in scenarios that are made for others."""

SHIPPED = sorted(path.stem for path in list_applications())
RUNS = [
    (reference, scenario)
    for row, reference in enumerate(PAIRS)
    for column, scenario in enumerate(SHIPPED)
    if (row + column) % EVERY == 0
]


@dataclass(frozen=True)
class Unrecorded:
    """An assignor of this project that does not record its work."""

    assignor: TaskAssignor

    @property
    def falls_back_without_lags(self) -> bool:
        return getattr(self.assignor, "falls_back_without_lags", False)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return self.assignor.assign(state)


@dataclass(frozen=True)
class MakeUnrecorded:
    name: str

    def __call__(self) -> Unrecorded:
        return Unrecorded(registry.make(registry.find(self.name)))


@cache
def java_assignor(reference: str) -> TaskAssignor:
    return registry.make(registry.load(reference))


def check_equal(java: Trace, python: Trace) -> None:
    """Check that all tables are equal, and that a failure has the same reason."""
    reasons = [str(trace.failure).partition(": ")[2] for trace in (java, python)]
    assert reasons[0].partition(": ")[0] == reasons[1].partition(": ")[0]  # Java's class; Python words its message.
    tables = [tabulate(trace, "some", 1) for trace in (java, python)]
    if java.failure is not None:
        for table in tables:
            table["runs"] = table["runs"].drop_columns(["cause"])
    assert tables[0].keys() == tables[1].keys()
    for name in tables[0]:
        assert written(tables[0][name]) == written(tables[1][name]), name


def written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


@cache
def shipped(name: str) -> Scenario:
    return load(name)


@pytest.mark.parametrize(("reference", "scenario"), RUNS)
def test_results_of_shipped_scenarios_are_equal(reference: str, scenario: str) -> None:
    loaded = shipped(scenario)
    spec = loaded.assignor_spec(PAIRS[reference])
    plain = replace(spec, info=replace(spec.info, make=MakeUnrecorded(PAIRS[reference]), releases=(), release=""))
    seed = loaded.seeds[0]
    in_java = loaded.assignor_spec(reference)
    assert (in_java.info.weights, in_java.info.ignored_configs) == (plain.info.weights, plain.info.ignored_configs)
    check_equal(run(loaded, in_java, seed, OPTIONS), run(loaded, plain, seed, OPTIONS))


@pytest.mark.parametrize("reference", PAIRS)
def test_results_of_random_worlds_are_equal(reference: str) -> None:
    python = Unrecorded(registry.make(registry.find(PAIRS[reference])))

    @settings(
        max_examples=max(1, WORLDS // len(PAIRS)),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(world=worlds())
    def check(world: World) -> None:
        check_equal(simulate(world, java_assignor(reference)), simulate(world, python))

    check()


@pytest.mark.parametrize("group", [SMALLEST, LARGER])
def test_streams_group_oscillates_as_with_the_jar(group: UnsettledGroup) -> None:
    java = group.answers(java_assignor("java:group-coordinator@4.4.0:sticky"), 12)
    python = group.answers(registry.make(registry.find("streams_group_sticky@4.4")), 12)
    assert all(is_same(first, second) for first, second in zip(java, python, strict=True))
    assert is_same(java[-1], java[-3])
    assert not is_same(java[-1], java[-2])
