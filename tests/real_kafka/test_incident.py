"""A night of two real groups, rebuilt from the segments of `__consumer_offsets` while the broker runs.

Every generation is compared with what the leaders logged, the last epoch with what the coordinator describes, and each
assignment with that of this project.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from scenarios.kafka.incident.folder import read_incident
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedRebalance
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect
from tests.assignor_sim.conftest import CommandResult, Shell
from tests.fidelity.leader_log import LeaderDecision, parse_leader_decisions
from tests.kafka_cluster import past_night
from tests.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import KAFKA_VERSION, ClusterSpec, KafkaCluster
from tests.kafka_cluster.past_night import APPLICATIONS, CLASSIC, STREAMS, segment_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RECORDS = 300
ACTIVE = 26
DOWN_S, QUIET_S, STABLE_TIMEOUT_S = 2, 3, 90

Tasks = Mapping[str, tuple[frozenset[str], frozenset[str]]]


@dataclass(frozen=True, slots=True)
class LiveNight:
    """A night, and what was recorded of it.

    Attributes:
        groups: The groups, rebuilt from segments alone.
        decisions: What the leaders of the classic group logged.
        described: Description of the streams group at the end.
        reported: Tasks that the applications report at the end, by application and process id.
        results: Results of `incident` with segments and logs, by group.
    """

    groups: Mapping[str, RecordedGroup]
    decisions: Sequence[LeaderDecision]
    described: Mapping[str, Any]
    reported: Mapping[str, Tasks]
    results: Mapping[str, CommandResult]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNight]:
    shell = Shell(tmp_path_factory.mktemp("incident"))
    spec = ClusterSpec(brokers=1, broker_configs=past_night.broker_configs_on(KAFKA_VERSION))
    with KafkaCluster(spec) as cluster, Hosts(cluster) as hosts:
        prepare(cluster, RECORDS)
        first, second = hosts.add("one", "az1"), hosts.add("two", "az2")
        for host in (first, second):
            host.start(APPLICATIONS)
        topology = describe_topology(cluster)
        _wait_until_quiet(hosts)
        second.kill()
        time.sleep(DOWN_S)
        second.start(APPLICATIONS)
        time.sleep(past_night.SESSION_MS / 1_000)  # Until the old sessions have timed out.
        _wait_until_quiet(hosts)
        first.stop()
        _wait_until_quiet(hosts)
        with connect(cluster.bootstrap_servers, client_settings({})) as api:
            described = api.streams_group(STREAMS)
        records, files = shell.folder / "records", shell.folder / "files"
        for folder in (records, files):
            for group in APPLICATIONS:
                segment = segment_of(cluster, group)
                (folder / segment.parent.name).mkdir(parents=True)
                shutil.copy(segment, folder / segment.parent.name)
        logs = {host.name: host.log.read_text(errors="replace") for host in (first, second)}
        texts = {"topics.txt": cluster.run_tool("TopicCommand", "--describe"), "topology.txt": topology}
        for name, text in {**texts, **{f"{name}.log": log for name, log in logs.items()}}.items():
            shell.write(f"files/{name}", text)
        yield LiveNight(
            {group: read_incident(records, group, "4.3", None).group for group in APPLICATIONS},
            _decisions(logs),
            described,
            {group: _reported(group, hosts.running()) for group in APPLICATIONS},
            {
                group: shell("incident", "--from", "files", "--group", group, "--kafka", "4.3", "--format", "json")
                for group in APPLICATIONS
            },
        )


def _wait_until_quiet(hosts: Hosts) -> None:
    def is_quiet() -> bool:
        since_ms = round((time.time() - QUIET_S) * 1_000)
        for group in APPLICATIONS:
            histories = [host.task_history(group) for host in hosts.running()]
            if not all(history and history[-1].state == "RUNNING" for history in histories):
                return False
            latest = [history[-1] for history in histories]
            # A host that has stopped may still have tasks, according to the group.
            if sum(len(tasks.active) for tasks in latest) != ACTIVE or max(t.at_ms for t in latest) >= since_ms:
                return False
        return True

    hosts.wait_until("all tasks run, and nothing changes", is_quiet, STABLE_TIMEOUT_S)


def _decisions(logs: Mapping[str, str]) -> list[LeaderDecision]:
    result = [decision for name, log in logs.items() for decision in parse_leader_decisions(log, f"{CLASSIC}-{name}")]
    return sorted(result, key=lambda decision: decision.at_ms)


def _reported(group: str, hosts: Sequence[Host]) -> Tasks:
    latest = {host.process_id(group): host.task_history(group)[-1] for host in hosts}
    return {process: (tasks.active, tasks.standby) for process, tasks in latest.items()}


def _by_process(rebalance: RecordedRebalance) -> Tasks:
    """Return the tasks of each process."""
    tasks: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for process, members in rebalance.by_process().items():
        roles = ({task for member in members for task in getattr(member, role)} for role in ("active", "standby"))
        active, standby = map(frozenset, roles)
        tasks[process] = active, standby
    return tasks


def test_every_generation_is_what_its_leader_decided(night: LiveNight) -> None:
    rebalances = [rebalance for rebalance in night.groups[CLASSIC].rebalances if rebalance.members]
    assert len(rebalances) >= 4
    for rebalance in rebalances:
        decision = [decision for decision in night.decisions if decision.at_ms <= rebalance.at_ms][-1]
        decided = {str(task): str(process) for process, tasks in decision.assignment.active.items() for task in tasks}
        active = rebalance.active()
        # Tasks that are not safely revoked yet are missing if the members changed before the follow-up rebalance.
        assert active.items() <= decided.items(), rebalance.number
        assert set(decided) - set(active) <= {
            task for member in rebalance.members for task in member.previous_active
        }, rebalance.number


@pytest.mark.parametrize("group", APPLICATIONS)
def test_last_assignment_is_what_the_application_reports(night: LiveNight, group: str) -> None:
    assert _by_process(night.groups[group].rebalances[-1]) == night.reported[group]


def test_last_epoch_is_what_the_coordinator_describes(night: LiveNight) -> None:
    last = night.groups[STREAMS].rebalances[-1]
    assert last.number == night.described["assignment_epoch"]
    assert last.coordinator_order == tuple(member["member_id"] for member in night.described["members"])
    for member in last.members:
        [described] = [entry for entry in night.described["members"] if entry["member_id"] == member.id]
        for role in ("active", "standby"):
            entries = described["target_assignment"][f"{role}_tasks"]
            tasks = {f"{entry['subtopology_id']}_{number}" for entry in entries for number in entry["partitions"]}
            assert set(getattr(member, role)) == tasks


@pytest.mark.parametrize("group", APPLICATIONS)
def test_every_assignment_is_recomputed(night: LiveNight, group: str) -> None:
    result = night.results[group]
    assert result.code == 0, result.err
    report = json.loads(result.out)
    differing = {rebalance["number"]: rebalance["differences"] for rebalance in report["rebalances"]}
    assert {number: differences for number, differences in differing.items() if differences} == {}
    assert report["recomputed"] == len(report["rebalances"])


@pytest.mark.parametrize("group", APPLICATIONS)
def test_restart_and_leave_are_the_causes(night: LiveNight, group: str) -> None:
    report = json.loads(night.results[group].out)
    kinds = [(cause["client"], cause["kind"]) for entry in report["rebalances"] for cause in entry["causes"]]
    assert {(f"{group}-two", "restarted"), (f"{group}-two", "returned")} & set(kinds)
    assert kinds[-1][1] == "follow_up" if group == CLASSIC else kinds[-1] == (f"{group}-one", "left")
    assert (f"{group}-one", "left") in kinds
