"""A checkup of a running consumer group, and the rollout of what it recommends there.

The consumers of each zone read partitions of another zone, as an assignor without racks has it. The recommended
assignor is rolled out in two rolling restarts; rebalances, moves and the zones of the final assignment are compared
with the predicted ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.assignor_sim.conftest import CommandResult, Shell
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumers import ConsumerEvent, PlannedConsumer, run_consumers

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

GROUP: Final = "billing"
TOPIC: Final = "orders"
PARTITIONS: Final = 12
RACKS: Final = ("az1", "az2", "az3")
RACK_OF: Final = {"app-1": "az2", "app-2": "az3", "app-3": "az1"}
"""Partition 0 is in az1, and round robin gives it to app-1; so each consumer reads from another zone."""
OLD: Final = "org.apache.kafka.clients.consumer.RoundRobinAssignor"
STRATEGY: Final = "partition.assignment.strategy"
INSTANCE: Final = "group.instance.id"
TIMES: Final = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
BROKER: Final = {
    "group.initial.rebalance.delay.ms": 1_000,
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}
RUNNING_MS, START_MS, DOWN_MS, PAUSE_MS, END_MS = 60_000, 8_000, 2_000, 5_000, 58_000
SETTLED_MS: Final = 12_000
"""Longer than the group needs to assign all partitions."""
SPARE_REBALANCES: Final = 4
"""Members that revoke partitions at about the same time may cause more follow-up rebalances than predicted."""


@dataclass(frozen=True, slots=True)
class RolledOutGroup:
    """A checkup of the group, and what its consumers printed during the rollout.

    Attributes:
        result: result of the command.
        report: its JSON.
        events: what the consumers printed.
    """

    result: CommandResult
    report: Mapping[str, Any]
    events: Sequence[ConsumerEvent]


@pytest.fixture(scope="module")
def rolled_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RolledOutGroup]:
    shell = Shell(tmp_path_factory.mktemp("checkup"))
    with KafkaCluster(ClusterSpec(3, RACKS, broker_configs=BROKER)) as cluster:
        replicas = ",".join(str(partition % 3 + 1) for partition in range(PARTITIONS))
        cluster.run_tool("TopicCommand", "--create", "--topic", TOPIC, "--replica-assignment", replicas)
        with ThreadPoolExecutor(1) as pool:
            running = [planned(name, OLD, 0, None) for name in RACK_OF]
            started_ms: Future[int] = Future()
            consumers = pool.submit(run_consumers, cluster, running, RUNNING_MS, started_ms.set_result)
            wait([started_ms, consumers], return_when=FIRST_COMPLETED)
            time.sleep(SETTLED_MS / 1000)
            result = shell("checkup", "--bootstrap", cluster.bootstrap_servers.split(",")[0], *OPTIONS)
            consumers.result()
        assert result.code == 0, result.err
        report = json.loads((shell.folder / "out" / "checkup.json").read_text(encoding="utf-8"))
        changes = {change["key"]: change for change in report["changes"]}
        assert set(changes) <= {STRATEGY, INSTANCE}
        then = changes[STRATEGY]["after"]
        assert any(f"{then},{OLD}" in note for note in changes[STRATEGY]["notes"])
        restarts = list(rollout([f"{then},{OLD}", then], is_static=INSTANCE in changes))
        yield RolledOutGroup(result, report, run_consumers(cluster, restarts, END_MS))


DEPLOYMENT: Final = [
    {
        "at": "10m",
        "rolling_bounce": {"clients": list(RACK_OF), "down": f"{DOWN_MS}ms", "pause": f"{PAUSE_MS}ms"},
    }
]
OPTIONS: Final = (
    *("--group", GROUP, "--seeds", "3", "--out", "out", "--set", f"events={json.dumps(DEPLOYMENT)}"),
    *(option for key, value in TIMES.items() for option in ("--config", f"{key}={value}")),
)


def planned(
    name: str, strategy: str, starts_ms: int, closes_ms: int | None, *, is_static: bool = False
) -> PlannedConsumer:
    """Return a consumer; its client.id orders it among the members, as in each run of the group."""
    configs = {**TIMES, "client.id": name, "client.rack": RACK_OF[name], STRATEGY: strategy}
    configs |= {INSTANCE: name} if is_static else {}
    return PlannedConsumer(GROUP, f"{name}@{starts_ms}", (TOPIC,), configs, starts_ms, closes_ms)


def rollout(restarts: Sequence[str], *, is_static: bool) -> Iterator[PlannedConsumer]:
    """Yield the consumers of rolling restarts, each with its assignors."""
    since_ms = dict.fromkeys(RACK_OF, 0)
    strategy, at_ms = dict.fromkeys(RACK_OF, OLD), START_MS
    for then in restarts:
        for name in RACK_OF:
            has_instance = is_static and since_ms[name] > 0
            yield planned(name, strategy[name], since_ms[name], at_ms, is_static=has_instance)
            since_ms[name], strategy[name] = at_ms + DOWN_MS, then
            at_ms += DOWN_MS + PAUSE_MS
    for name in RACK_OF:
        yield planned(name, strategy[name], since_ms[name], None, is_static=is_static)


def owners_over_time(events: Sequence[ConsumerEvent]) -> Iterator[tuple[int, str, str]]:
    """Yield each new owner of a partition, with the time."""
    for event in events:
        if event.what == "assigned":
            yield from ((event.at_ms, partition, event.name.partition("@")[0]) for partition in event.partitions)


def test_checkup_finds_reads_across_zones(rolled_out: RolledOutGroup) -> None:
    assert rolled_out.report["subject"] == "consumer group"
    assert f"{PARTITIONS} of {PARTITIONS} partitions are fetched across zones" in rolled_out.result.out
    [before] = [area for area in rolled_out.report["today"]["areas"] if area["area"] == "bill"]
    [after] = [area for area in rolled_out.report["recommended"]["areas"] if area["area"] == "bill"]
    assert (before["grade"], after["grade"]) == ("F", "A")


def test_rollout_has_the_predicted_rebalances_and_moves(rolled_out: RolledOutGroup) -> None:
    ranges = rolled_out.report["rollout"]["ranges"]
    generations = [event.generation for event in rolled_out.events if event.what == "generation"]
    settled = max(event.generation for event in rolled_out.events if event.at_ms < START_MS)
    low, high = ranges["rebalances"]
    assert low - 1 <= max(generations) - settled <= high + SPARE_REBALANCES
    owner: dict[str, str] = {}
    moves = 0
    for at_ms, partition, name in owners_over_time(rolled_out.events):
        moves += at_ms >= START_MS and owner.get(partition, name) != name
        owner[partition] = name
    low, high = ranges["active_moves"]
    assert 0 < moves <= high * 1.25
    assert moves >= low * 0.75


def test_rollout_ends_in_the_predicted_zones(rolled_out: RolledOutGroup) -> None:
    owner = {partition: name for _, partition, name in owners_over_time(rolled_out.events)}
    assert len(owner) == PARTITIONS
    remote = sum(RACK_OF[name] != RACKS[int(partition.rpartition("-")[2]) % 3] for partition, name in owner.items())
    low, high = rolled_out.report["rollout"]["ranges"]["cross_rack_source_partitions"]
    assert low <= remote <= high < PARTITIONS
