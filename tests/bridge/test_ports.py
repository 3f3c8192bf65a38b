"""Assignors of users in Java, and their ports to Python, give equal results of random worlds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from assignors import registry
from assignors.jvm.reference import COORDINATOR, STREAMS
from assignors.model.assignment import TaskAssignor
from simulator.processes.simulation import simulate
from simulator.world.world import World
from tests.bridge.conftest import compile_jar
from tests.bridge.test_equal_answers import check_equal
from tests.relations.worlds import worlds

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[2]
STAY_PUT = ROOT / "tests/kafka_cluster/java/StayPut.java"
RACK_SPREAD = ROOT / "tests/real_kafka/RackSpread.java"
WORLDS = 8


@pytest.mark.parametrize(
    ("source", "artifact", "port"),
    [
        (STAY_PUT, STREAMS, "tests.real_kafka.stay_put:StayPut"),
        (RACK_SPREAD, COORDINATOR, "tests.real_kafka.rack_spread:RackSpread"),
    ],
    ids=["KIP-924", "KIP-1357"],
)
def test_class_and_its_port_give_equal_results(source: Path, artifact: str, port: str, tmp_path: Path) -> None:
    jar = compile_jar([source], tmp_path, artifact)
    info = registry.load(f"java:assignorsim.{source.stem}@{jar}")
    assert info.in_streams_groups == (artifact == COORDINATOR)
    java: TaskAssignor = registry.make(info)
    python: TaskAssignor = registry.make(registry.load(port))

    @settings(
        max_examples=WORLDS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(world=worlds())
    def check(world: World) -> None:
        check_equal(simulate(world, java), simulate(world, python))

    check()
