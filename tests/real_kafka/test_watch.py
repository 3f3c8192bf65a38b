"""A watch of real groups: one broker, a Kafka Streams application of either protocol, and records that keep arriving.

Each watch runs as a process, as in its documentation. A host joins, another one closes, and another one is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.watching.group_watcher import GroupWatcher, WatchRequest
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect
from tests.fidelity.applications import BROKER_CONFIGS, COMMON, SESSION, STREAMS_BROKER_CONFIGS
from tests.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.real_kafka.producing import producing
from tests.real_kafka.recorded_requests import READ_ONLY, recorded_requests

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

CLASSIC, STREAMS = "shop", "kiosk"
SESSION_MS = 8_000
OWN = {**COMMON, "num.stream.threads": 1, "replication.factor": 1, SESSION: SESSION_MS}
APPLICATIONS: Mapping[str, Mapping[str, object]] = {
    CLASSIC: {**OWN, "num.standby.replicas": 1},
    STREAMS: {**OWN, "group.protocol": "streams"},
}
DELAY_MS = 2_000
CONFIGS = {
    **BROKER_CONFIGS,
    **STREAMS_BROKER_CONFIGS,
    "group.initial.rebalance.delay.ms": DELAY_MS,
    "group.streams.initial.rebalance.delay.ms": DELAY_MS,
    "group.streams.session.timeout.ms": SESSION_MS,
    "group.streams.min.session.timeout.ms": SESSION_MS,
    "offsets.topic.num.partitions": 1,
}
UNKNOWN_TO_A_WATCH = ("internal.leave.group.on.close", "auto.offset.reset")
PARTITIONS = {"clicks": 8, "pages": 6, "alarms": 4}
TASKS = 26
DESCRIBES = {CLASSIC: 15, STREAMS: 89}
TOPOLOGY = "topology.txt"
CLIENT_ID = "recorded-watch"
OTHER_STANDBYS = "num.standby.replicas=0"
INTERVAL_S = 1
TIMEOUT_S = 90


@dataclass(frozen=True, slots=True)
class RunningWatch:
    """A watch process.

    Attributes:
        process: the process.
        out: the file of its events.
        log: the file with its standard error.
    """

    process: subprocess.Popen[bytes]
    out: Path
    log: Path

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()] if self.out.exists() else []

    def metrics(self) -> dict[str, float]:
        address = self.log.read_text().partition("metrics: ")[2].strip()
        with urllib.request.urlopen(address, timeout=10) as response:
            text = response.read().decode()
        lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}


@dataclass(frozen=True, slots=True)
class WatchedGroup:
    """What a watch saw, by step.

    Attributes:
        events: all events.
        steps: number of events at the start of each step.
        metrics: metrics when three hosts ran, and while tasks were down.
        lines: all lines that the watch printed.
        requests: API keys of the requests of three polls in one connection.
        once: exit codes of `--once`, with the configs of the application and with another number of standbys.
        code: its exit code after SIGTERM.
        seconds: how long it took to end.
    """

    events: Sequence[Mapping[str, Any]]
    steps: Mapping[str, int]
    metrics: Mapping[str, Mapping[str, float]]
    lines: Sequence[str]
    requests: Sequence[Sequence[int]]
    once: tuple[int, int]
    code: int
    seconds: float

    def after(self, step: str, kind: str) -> list[Mapping[str, Any]]:
        return [event for event in self.events[self.steps[step] :] if event["event"] == kind]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, WatchedGroup]]:
    folder = tmp_path_factory.mktemp("watch")
    spec = ClusterSpec(brokers=1, racks=("az1",), broker_configs=CONFIGS)
    with KafkaCluster(spec) as cluster, Hosts(cluster) as hosts, ThreadPoolExecutor(1) as executor:
        described = executor.submit(describe_topology, cluster)
        prepare(cluster, 300)
        own = hosts.add("one", "az1"), hosts.add("two", "az1"), hosts.add("three", "az1")
        with producing(cluster, PARTITIONS, 0.5, _record):
            for host in own[:2]:
                host.start(APPLICATIONS)
            topology = folder / TOPOLOGY
            topology.write_text(described.result())
            _wait(hosts, "two hosts run", lambda: _run_all(hosts, own[:2]))
            requests = {application: _record_requests(cluster, application, topology) for application in APPLICATIONS}
            once = {application: _watch_once(cluster, folder, application) for application in APPLICATIONS}
            watches = {application: _start(cluster, folder, application) for application in APPLICATIONS}
            try:
                yield _watch(hosts, watches, own, requests, once)
            finally:
                for watch in watches.values():
                    watch.process.kill()
                    watch.process.wait()
                    if watch.process.stdout is not None:
                        watch.process.stdout.close()


def _watch(
    hosts: Hosts,
    watches: Mapping[str, RunningWatch],
    own: tuple[Host, Host, Host],
    requests: Mapping[str, Sequence[Sequence[int]]],
    once: Mapping[str, tuple[int, int]],
) -> Mapping[str, WatchedGroup]:
    """Let one host join, one close and one crash, and end the watches."""
    _, two, three = own
    steps: dict[str, dict[str, int]] = {application: {} for application in watches}
    metrics: dict[str, dict[str, dict[str, float]]] = {application: {} for application in watches}

    def begin(step: str) -> None:
        for application, watch in watches.items():
            steps[application][step] = len(watch.events())

    def saw(kind: str, step: str, **details: object) -> bool:
        return all(
            any(
                event["event"] == kind and all(event["details"].get(key) == value for key, value in details.items())
                for event in watch.events()[steps[application][step] :]
            )
            for application, watch in watches.items()
        )

    def is_stable() -> bool:
        return all(
            [event for event in watch.events() if event["event"] == "group_state"][-1]["details"]["phase"] == "stable"
            for watch in watches.values()
        )

    _wait(hosts, "the watches know the groups", lambda: all(watch.events() for watch in watches.values()))
    begin("join")
    three.start(APPLICATIONS)
    _wait(hosts, "three hosts run", lambda: saw("members", "join", processes=3) and _run_all(hosts, own))
    _wait(hosts, "the groups are stable", is_stable)
    for application, watch in watches.items():
        metrics[application]["join"] = watch.metrics()
    begin("close")
    two.stop()
    _wait(hosts, "two hosts remain", lambda: saw("members", "close", processes=2))
    _wait(hosts, "the groups are stable", is_stable)
    time.sleep(4 * INTERVAL_S)
    begin("crash")
    three.kill()
    _wait(hosts, "tasks are down", lambda: saw("task_down", "crash"))
    for application, watch in watches.items():
        metrics[application]["down"] = watch.metrics()
    _wait(hosts, "one host remains", lambda: saw("members", "crash", processes=1))
    _wait(
        hosts,
        "all tasks run",
        lambda: all(watch.metrics()[_name("stalled_tasks", app)] == 0 for app, watch in watches.items()),
    )
    results = {}
    for application, watch in watches.items():
        started_s = time.monotonic()
        watch.process.terminate()
        out, _ = watch.process.communicate(timeout=30)
        results[application] = WatchedGroup(
            watch.events(),
            steps[application],
            metrics[application],
            out.decode().splitlines(),
            requests[application],
            once[application],
            watch.process.returncode,
            time.monotonic() - started_s,
        )
    return results


def _start(cluster: KafkaCluster, folder: Path, application: str) -> RunningWatch:
    out, log = folder / f"{application}.jsonl", folder / f"{application}.log"
    command = [*_command(cluster, folder, application), "--interval", str(INTERVAL_S), "--metrics", "0"]
    with log.open("wb") as errors:
        process = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=errors)
    return RunningWatch(process, out, log)


def _command(cluster: KafkaCluster, folder: Path, application: str) -> list[str]:
    """Return the command of a watch with the configs and the topology of an application."""
    configs = APPLICATIONS[application]
    properties = folder / f"{application}.properties"
    known = {key: value for key, value in configs.items() if key not in UNKNOWN_TO_A_WATCH}
    properties.write_text("".join(f"{key}={value}\n" for key, value in known.items()))
    source = ["--bootstrap", cluster.bootstrap_servers, "--group", application, "--topology", str(folder / TOPOLOGY)]
    return [sys.executable, "-m", "assignor_sim", "watch", *source, "--streams-config", str(properties)]


def _watch_once(cluster: KafkaCluster, folder: Path, application: str) -> tuple[int, int]:
    command = [*_command(cluster, folder, application), "--once"]
    runs = [
        subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL) for more in ([], ["--config", OTHER_STANDBYS])
    ]
    first, second = (run.wait(timeout=60) for run in runs)
    return first, second


def _record_requests(cluster: KafkaCluster, application: str, topology: Path) -> list[list[int]]:
    """Return the API keys of the requests that kafka-python sends in each of three polls in one connection."""
    watcher = GroupWatcher(WatchRequest(application, topology=topology.read_text()))
    polls = []
    settings = client_settings({"client.id": CLIENT_ID})
    with recorded_requests(CLIENT_ID) as sent, connect(cluster.bootstrap_servers, settings) as connected:
        for _ in range(3):
            watcher.poll(connected)
            polls.append(sent.copy())
            sent.clear()
    return polls


def _record(number: int, partition: int) -> tuple[bytes, bytes]:
    return f"key-{number}".encode(), f"page-{(7 * number + partition) % 40}".encode()


def _run_all(hosts: Hosts, own: Sequence[Host]) -> bool:
    histories = [host.task_history(application) for application in APPLICATIONS for host in own]
    if not all(history and history[-1].state == "RUNNING" for history in histories):
        return False
    return sum(len(history[-1].active) for history in histories) == TASKS * len(APPLICATIONS)


def _wait(hosts: Hosts, description: str, condition: Any) -> None:
    hosts.wait_until(description, condition, TIMEOUT_S)


def _name(metric: str, application: str, **labels: str) -> str:
    text = ",".join(f'{key}="{value}"' for key, value in {"group": application, **labels}.items())
    return f"assignor_sim_watch_{metric}{{{text}}}"


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_assignment_is_as_predicted(watched: Mapping[str, WatchedGroup], application: str) -> None:
    """A poll of a streams group may miss targets, and the target before the first one is unknown."""
    group = watched[application]
    verdicts = [event["details"]["verdict"] for event in group.events if event["event"] == "prediction"]
    assert "differs" not in verdicts
    assert verdicts.count("unknown") <= (0 if application == CLASSIC else 2)
    assert verdicts.count("matched") >= 3
    for step in ("join", "close", "crash"):
        assert any(event["details"]["verdict"] == "matched" for event in group.after(step, "prediction")), step


@pytest.mark.parametrize("application", APPLICATIONS)
def test_rebalances_have_their_causes(watched: Mapping[str, WatchedGroup], application: str) -> None:
    group = watched[application]
    for step, cause in (("join", "joined"), ("close", "left"), ("crash", "left")):
        assert any(cause in event["details"]["cause"] for event in group.after(step, "rebalance")), step
    assert group.after("join", "members")[0]["details"]["joined"] == [f"{application}-three"]
    assert group.after("close", "members")[0]["details"]["left"] == [f"{application}-two"]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_crash_shows_tasks_down_until_the_session_has_timed_out(
    watched: Mapping[str, WatchedGroup], application: str
) -> None:
    """The simulator predicts the downtime before the group has noticed the crash."""
    group = watched[application]
    down = group.after("crash", "task_down")
    left_ms = group.after("crash", "members")[0]
    first = down[0]
    assert first["time"] <= left_ms["time"]
    assert first["details"]["tasks"]
    for task in first["details"]["tasks"]:
        assert SESSION_MS - 2_000 <= task["predicted_ms"] <= 4 * SESSION_MS
    stalled = group.metrics["down"]
    assert stalled[_name("stalled_tasks", application)] > 0
    assert stalled[_name("predicted_downtime_seconds", application)] >= SESSION_MS / 1000 - 2
    assert not [event for event in group.events if event["event"] == "task_down" and event["level"] == "alarm"]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_metrics_are_those_of_the_group(watched: Mapping[str, WatchedGroup], application: str) -> None:
    metrics = watched[application].metrics["join"]
    assert metrics[_name("up", application)] == 1
    assert metrics[_name("members", application)] == metrics[_name("processes", application)] == 3
    assert metrics[_name("tasks", application, role="active")] == TASKS
    assert metrics[_name("tasks", application, role="unassigned")] == 0
    assert metrics[_name("rebalances_total", application)] >= 1
    assert metrics[_name("predictions_total", application, result="matched")] >= 1
    assert metrics[_name("polls_total", application)] > 3
    assert metrics[_name("failed_polls_total", application)] == 0
    assert not [name for name, value in metrics.items() if "alarm_active" in name and value]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_watch_sends_requests_that_read_only(watched: Mapping[str, WatchedGroup], application: str) -> None:
    first, *others = watched[application].requests
    assert {DESCRIBES[application], 2, 3, 9, 16, 18, 35} <= set(first) <= set(READ_ONLY)
    for keys in others:
        assert {DESCRIBES[application], 2, 9} <= set(keys) <= {DESCRIBES[application], 2, 3, 9, 10}


def test_single_poll_fails_if_the_last_assignment_is_not_as_predicted(watched: Mapping[str, WatchedGroup]) -> None:
    """The target before is unknown in the first poll of a streams group, which compares nothing."""
    assert watched[CLASSIC].once == (0, 1)
    assert watched[STREAMS].once == (0, 0)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_poll_without_change_sends_few_requests(watched: Mapping[str, WatchedGroup], application: str) -> None:
    """One each to describe the group and to read committed offsets, and one to each broker for the end offsets."""
    for keys in watched[application].requests[1:]:
        assert [keys.count(key) for key in (DESCRIBES[application], 9, 2)] == [1, 1, 1]
        assert len(keys) <= 6


@pytest.mark.parametrize("application", APPLICATIONS)
def test_watch_ends_at_sigterm_with_lines_that_fit_a_terminal(
    watched: Mapping[str, WatchedGroup], application: str
) -> None:
    group = watched[application]
    assert group.code == 0
    assert group.seconds < 10
    assert len(group.lines) == len(group.events)
    assert max(map(len, group.lines)) <= 80
