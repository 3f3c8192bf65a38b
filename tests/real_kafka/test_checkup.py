"""A checkup of an application on a real cluster, and the rollout of what it recommends there.

The command runs as in its documentation. Its properties are then deployed on the real application, one host after
another, and the prediction of the rollout is compared with what happens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest

from scenarios.load import load
from scenarios.run import run
from simulator.results.tabulation import tabulate
from tests.assignor_sim.conftest import CommandResult, Shell
from tests.fidelity import applications, tested_group
from tests.fidelity.applications import BROKER_CONFIGS, CLOSE_CONFIG, COMMON
from tests.fidelity.leader_log import LeaderDecision
from tests.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

APPLICATION = applications.TestedApplication("shop", "checked application")
RACKS = ("az1", "az2", "az3")
RECORDS = 3_000
STATEFUL = 14
DOWN_S, PAUSE_S = 5, 12
QUIET_S, STABLE_TIMEOUT_S = 3.0, 180
MAX_S = 180
"""The time in which a checkup answers."""
MAX_LINES = 60
TOLERANCE = 0.1
"""Deviation of moves from their range over ten leaders: on a busy machine, tasks restore more slowly than predicted."""
MAX_MORE_REBALANCES = 2
"""A busy machine may divide the join of a host's threads into two rebalances."""
OTHER_CONFIGS = ("internal.leave.group.on.close", "auto.offset.reset")
"""Configs of the tested application that a checkup does not get: the event states the first one."""


@dataclass(frozen=True, slots=True)
class RolledOut:
    """A checkup and the rollout of its recommendation.

    Attributes:
        result: result of the command.
        seconds: its duration.
        report: its JSON.
        before: metrics of the application before the rollout, from an import.
        after: the same afterwards.
        decisions: what the group leaders assigned during the rollout, with the last decision before it.
        deployed: the deployed properties.
    """

    result: CommandResult
    seconds: float
    report: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    decisions: Sequence[LeaderDecision]
    deployed: Mapping[str, str]


@pytest.fixture(scope="module")
def rolled_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RolledOut]:
    shell = Shell(tmp_path_factory.mktemp("checkup"))
    with KafkaCluster(ClusterSpec(brokers=3, broker_configs=BROKER_CONFIGS)) as cluster, Hosts(cluster) as hosts:
        prepare(cluster, RECORDS)
        names = ("one", "two", "three")
        own = [hosts.add(name, rack) for name, rack in zip(names, RACKS, strict=True)]
        for host in own:
            host.start({APPLICATION.id: APPLICATION.configs_on(host)})
        shell.write("topology.txt", describe_topology(cluster))
        group = tested_group.TestedGroup(cluster, hosts, APPLICATION, "", {})
        _wait_until_stable(hosts, group)
        configs = {key: value for key, value in COMMON.items() if key not in OTHER_CONFIGS}
        shell.write("app.properties", "".join(f"{key}={value}\n" for key, value in configs.items()))
        before = _metrics(shell, cluster, "before.yaml", "app.properties")
        started = time.monotonic()
        result = shell("checkup", *_source(cluster), "--streams-config", "app.properties", *_deployment(own), *OPTIONS)
        seconds = time.monotonic() - started
        assert result.code == 0, result.err
        report = json.loads((shell.folder / "out" / "checkup.json").read_text(encoding="utf-8"))
        deployed = {change["key"]: change["after"] for change in report["changes"] if change["is_property"]}
        since_ms = round(time.time() * 1000)
        _roll_out(hosts, own, group, deployed)
        text = "".join(f"{key}={value}\n" for key, value in {**configs, **deployed}.items())
        shell.write("then.properties", text)
        after = _metrics(shell, cluster, "after.yaml", "then.properties")
        earlier = group.leader_decisions(0)
        last = [decision for decision in earlier if decision.at_ms < since_ms][-1:]
        yield RolledOut(result, seconds, report, before, after, [*last, *group.leader_decisions(since_ms)], deployed)


OPTIONS = ("--seeds", "3", "--out", "out")


def _source(cluster: KafkaCluster) -> tuple[str, ...]:
    server = cluster.bootstrap_servers.split(",")[0]
    return "--bootstrap", server, "--group", APPLICATION.id, "--topology", "topology.txt"


def _deployment(hosts: Sequence[Host]) -> tuple[str, str]:
    """Return the option that says how the application is deployed."""
    clients = [f"{APPLICATION.id}-{host.name}" for host in hosts]
    restart = {"clients": clients, "down": f"{DOWN_S}s", "pause": f"{PAUSE_S}s", "leaves_group": True}
    return "--set", f"events={json.dumps([{'at': '10m', 'rolling_bounce': restart}])}"


def _metrics(shell: Shell, cluster: KafkaCluster, file: str, properties: str) -> Mapping[str, Any]:
    """Import the application, and return the metrics of a run without events."""
    imported = shell("import", *_source(cluster), "--streams-config", properties, "--seconds", "0", "-o", file)
    assert imported.code == 0, imported.err
    scenario = load(shell.folder / file)
    return dict(tabulate(run(scenario, scenario.assignors[0]), "now", 1)["runs"].to_pylist()[0])


def _roll_out(hosts: Hosts, own: Sequence[Host], group: tested_group.TestedGroup, deployed: Mapping[str, str]) -> None:
    """Restart the hosts one after another with the deployed properties."""
    application = replace(APPLICATION, configs=dict(deployed))
    for host in own:
        host.stop()
        time.sleep(DOWN_S)
        host.start({application.id: {**application.configs_on(host), CLOSE_CONFIG: application.closing.value}})
        returned_s = time.monotonic()
        _wait_until_stable(hosts, group)
        time.sleep(max(0.0, PAUSE_S - (time.monotonic() - returned_s)))
    _wait_until_stable(hosts, group)


def _wait_until_stable(hosts: Hosts, group: tested_group.TestedGroup) -> None:
    hosts.wait_until("all tasks run, and nothing changes", lambda: group.is_stable(QUIET_S), STABLE_TIMEOUT_S)


def moves(decisions: Sequence[LeaderDecision]) -> int:
    """Return how often an active task was assigned to another process."""
    owners = [
        {str(task): str(process) for process, tasks in _active(decision).items() for task in tasks}
        for decision in decisions
    ]
    return sum(before[task] != after[task] for before, after in pairwise(owners) for task in after if task in before)


def _active(decision: LeaderDecision) -> Mapping[Any, Any]:
    return decision.assignment.active


def test_checkup_answers_in_time(rolled_out: RolledOut) -> None:
    assert rolled_out.seconds < MAX_S
    assert rolled_out.report["verdict"] == "recommended"
    assert {"rack.aware.assignment.strategy", "num.standby.replicas"} <= set(rolled_out.deployed)
    assert len(rolled_out.result.out.splitlines()) < MAX_LINES


def test_current_figures_are_those_of_the_cluster(rolled_out: RolledOut) -> None:
    text = f"{rolled_out.before['cross_rack_source_partitions']} of 26 partitions are read across zones"
    assert text in rolled_out.result.out


def test_rollout_has_the_predicted_rebalances_and_moves(rolled_out: RolledOut) -> None:
    ranges = rolled_out.report["rollout"]["ranges"]
    low, high = ranges["rebalances"]
    assert low <= len(rolled_out.decisions) - 1 <= high + MAX_MORE_REBALANCES
    low, high = ranges["active_moves"]
    assert (1 - TOLERANCE) * low <= moves(rolled_out.decisions) <= (1 + TOLERANCE) * high


def test_rollout_ends_with_the_predicted_assignment(rolled_out: RolledOut) -> None:
    low, high = rolled_out.report["rollout"]["ranges"]["cross_rack_source_partitions"]
    assert rolled_out.before["cross_rack_source_partitions"] > high
    assert low <= rolled_out.after["cross_rack_source_partitions"] <= high
    for measured in (rolled_out.before, rolled_out.after):
        assert measured["stateful_tasks"] == STATEFUL
    assert rolled_out.before["worst_client_loss"] > rolled_out.after["worst_client_loss"] == 0
