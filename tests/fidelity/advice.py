"""The recommendation of a checkup, rolled out on a real application, with what happens before and after it.

An application with a known weakness runs on a real cluster. `checkup --bootstrap` recommends properties, as for a
newcomer. The same situations are caused before and after these are deployed. A situation is predicted twice: from an
import just before it; and, for what the checkup promised, from the first import, with all tasks where the assignor puts
them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from scenarios.checkup.situations import base_document
from scenarios.load import loads
from tests.fidelity.applications import BROKER_CONFIGS, STANDBYS, STRATEGY, CloseMode, TestedApplication
from tests.fidelity.confirmation import Confirmation
from tests.fidelity.experiment import Experiment
from tests.fidelity.prediction import simulate_document
from tests.fidelity.scenario_edits import (
    DOWN_MS,
    STEP_DURATION_MS,
    Document,
    with_absence,
    with_departure,
    with_new_host,
)
from tests.fidelity.step_outcome import StepOutcome, is_close, predict_outcome
from tests.fidelity.steps import LATEST, RACKS, keep_logs
from tests.fidelity.stored_confirmation import format_times
from tests.kafka_cluster.applications import Host, Hosts, TableTopic, describe_topology, prepare_table
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tools.java import ClusterError

HOSTS: Final = 3
"""Hosts of an application; one more joins and leaves."""
DOWN_S: Final = 5
PAUSE_S: Final = 12
SEEDS: Final = 3
CHECKUP_TIMEOUT_S: Final = 600
FORMED_MS: Final = 600_000
"""Simulated time of the event in the situations of a checkup."""
OTHER_CONFIGS: Final = ("internal.leave.group.on.close", "auto.offset.reset")
"""Configs that a checkup does not get: the deployment states the first one."""

WARMUPS: Final = "max.warmup.replicas"


@dataclass(frozen=True, slots=True)
class WeakApplication:
    """An application with a known weakness.

    Attributes:
        weakness: What is wrong with it.
        area: Key of the checkup's area whose grade shows it.
        application: The application.
    """

    weakness: str
    area: str
    application: TestedApplication


WEAK_APPLICATIONS: Final = (
    WeakApplication(
        "tasks are assigned regardless of racks",
        "bill",
        TestedApplication(
            "orders",
            "18 tasks of 17 MB, 1 standby, no rack-aware assignment",
            configs={STANDBYS: 1, STRATEGY: "none", WARMUPS: 18},
            table=TableTopic("orders-table", partitions=18, records=210_000, value_bytes=1_450, replicas=2),
        ),
    ),
    WeakApplication(
        "no standbys, and one warm-up at a time",
        "redundancy",
        TestedApplication(
            "stock",
            "9 tasks of 150 MB, no standby, 1 warm-up",
            # A warm-up takes longer than the second until the next follow-up rebalance. A killed host may lose a
            # memtable of 11,000 records per task, and its tasks count as caught up in spite of that.
            configs={STRATEGY: "min_traffic", WARMUPS: 1, "acceptable.recovery.lag": 20_000},
            table=TableTopic("stock-table", partitions=9, records=900_000, value_bytes=1_450, replicas=2),
        ),
    ),
)


@dataclass(slots=True)
class RolledOutAdvice:
    """A checkup, the rollout of its recommendation, and the situations before and after it.

    Attributes:
        weak: The application.
        screen: What the checkup printed.
        report: Its JSON.
        changes: What was deployed.
        rebalances: Rebalances during the rollout.
        active_moves: Moves of active tasks during the rollout.
        cross_rack_partitions: Source partitions read from another rack, before and after the rollout.
        before: Steps before the rollout.
        after: Steps after it.
        promised: Outcome of each step after the rollout as predicted before it.
        restore_bytes_per_s: How fast a host restores on this machine.
    """

    weak: WeakApplication
    screen: str
    report: Mapping[str, Any]
    changes: Sequence[str]
    rebalances: int
    active_moves: int
    cross_rack_partitions: tuple[int, int]
    before: Sequence[Confirmation] = ()
    after: Sequence[Confirmation] = ()
    promised: Mapping[str, StepOutcome] = field(default_factory=dict)
    restore_bytes_per_s: int | None = None


def roll_out_advice(folder: Path, kafka: str = LATEST, kept: Path | None = None) -> list[RolledOutAdvice]:
    """Check up each weak application on a cluster, and roll out what is recommended.

    Args:
        folder: Working directory of the command, with a folder for each application.
        kafka: Release.
        kept: Folder for the scenarios of all steps; None to keep none.

    Raises:
        ClusterError: Kafka, Java or Maven failed, or an application did not become stable.
    """
    spec = ClusterSpec(brokers=len(RACKS), racks=RACKS, kafka_version=kafka, broker_configs=BROKER_CONFIGS)
    with KafkaCluster(spec) as cluster, ExitStack() as stack, ThreadPoolExecutor(len(WEAK_APPLICATIONS)) as threads:
        for weak in WEAK_APPLICATIONS:
            assert weak.application.table is not None
            prepare_table(cluster, weak.application.table)
        lanes = [
            threads.submit(_roll_out, weak, cluster, stack.enter_context(Hosts(cluster)), folder, kept)
            for weak in WEAK_APPLICATIONS
        ]
        return [lane.result() for lane in lanes]


def _roll_out(
    weak: WeakApplication, cluster: KafkaCluster, hosts: Hosts, folder: Path, kept: Path | None
) -> RolledOutAdvice:
    application = weak.application
    own = [hosts.add(f"{application.id}{number}", RACKS[number % len(RACKS)]) for number in range(HOSTS + 1)]
    topology = describe_topology(cluster, application.table)
    experiment = Experiment(application.id, cluster, hosts, [application], {application.id: topology}, kept=kept)
    experiment.start_first(*own[:HOSTS])
    _measure_restoration(experiment, own[HOSTS], application)
    imported = experiment.imported(application)
    cause_situations(experiment, own)
    before = tuple(experiment.confirmations)
    screen, report = _check_up(folder / application.id, cluster, application, topology, own[:HOSTS])
    deployed = deployed_application(application, report["changes"])
    at_ms = experiment.deploy(deployed, DOWN_S, PAUSE_S)
    group = experiment.group(deployed)
    rebalances, moves = len(group.leader_decisions(at_ms)), group.moves(at_ms)
    cause_situations(experiment, own)
    after = tuple(experiment.confirmations[len(before) :])
    if kept is not None:
        keep_logs(hosts, cluster, kept)
    return RolledOutAdvice(
        weak,
        screen,
        report,
        [f"{change['key']}={change['after']}" for change in report["changes"]],
        rebalances,
        moves,
        (_cross_rack(before), _cross_rack(after)),
        before,
        after,
        dict(promised_outcomes(imported, deployed, own)),
        experiment.restore_bytes_per_s,
    )


def _measure_restoration(experiment: Experiment, host: Host, application: TestedApplication) -> None:
    """Let a host join and leave, which shows how fast this machine restores: an import does not know that."""
    experiment.join(host)
    topics = experiment.imported(application)["cluster"]["topics"]
    [changelog] = [topic for topic in topics if topic["name"].endswith("-changelog")]
    rate = host.restore_records_per_s(application.id)
    experiment.restore_bytes_per_s = round(rate * changelog["record_size"])
    experiment.leave(host)
    host.remove_state()
    experiment.confirmations.clear()


def cause_situations(experiment: Experiment, hosts: Sequence[Host]) -> None:
    """Crash a host, restart all of them, and let one more join without any state, and leave."""
    experiment.crash(hosts[1])
    experiment.bounce(hosts[:HOSTS], "rolling restart of all")
    experiment.join(hosts[HOSTS])
    experiment.leave(hosts[HOSTS])
    hosts[HOSTS].remove_state()


def _cross_rack(steps: Sequence[Confirmation]) -> int:
    """Return the partitions that are read from another rack when all hosts but the additional one run."""
    count = steps[-1].outcome.cross_rack_partitions
    assert count is not None
    return count


def _check_up(
    folder: Path, cluster: KafkaCluster, application: TestedApplication, topology: str, hosts: Sequence[Host]
) -> tuple[str, Mapping[str, Any]]:
    """Run the command as its documentation says, with how the application is deployed."""
    folder.mkdir()
    configs = {key: value for key, value in application.all_configs().items() if key not in OTHER_CONFIGS}
    (folder / "app.properties").write_text("".join(f"{key}={value}\n" for key, value in configs.items()))
    (folder / "topology.txt").write_text(topology)
    restart = {
        "clients": [f"{application.id}-{host.name}" for host in hosts],
        "down": f"{DOWN_S}s",
        "pause": f"{PAUSE_S}s",
        "leaves_group": application.closing is CloseMode.LEAVE,
    }
    server = cluster.bootstrap_servers.split(",")[0]
    source = ("--bootstrap", server, "--group", application.id, "--topology", "topology.txt")
    deployment = f"events={json.dumps([{'at': '10m', 'rolling_bounce': restart}])}"
    options = ("--streams-config", "app.properties", "--set", deployment, "--seeds", str(SEEDS), "--out", "out")
    done = subprocess.run(
        [sys.executable, "-m", "assignor_sim", "checkup", *source, *options],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=CHECKUP_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise ClusterError(f"checkup of {application.id}: {done.stderr}")
    return done.stdout, json.loads((folder / "out" / "checkup.json").read_text(encoding="utf-8"))


def deployed_application(application: TestedApplication, changes: Sequence[Mapping[str, Any]]) -> TestedApplication:
    """Return the application with the changes of a recommendation."""
    configs = {**application.configs}
    is_static, closing, assignor = application.is_static, application.closing, application.assignor
    for change in changes:
        match change["key"]:
            case "group.instance.id":
                is_static = True
            case "CloseOptions":
                closing = CloseMode.LEAVE
            case key if change["is_property"]:
                after = change["after"]
                if after is None:
                    configs.pop(key, None)
                else:
                    configs[key] = int(after) if after.isdecimal() else after
                assignor = "sticky_task_assignor" if key == "task.assignor.class" else assignor
    return replace(application, configs=configs, is_static=is_static, closing=closing, assignor=assignor)


def promised_outcomes(
    imported: Document, application: TestedApplication, hosts: Sequence[Host]
) -> Iterator[tuple[str, StepOutcome]]:
    """Yield the outcome of each situation with other configs, by step, before they are deployed.

    Each begins with all tasks where the assignor puts them, as in a checkup. The additional host joins a group that has
    had no other event, and leaves that group.
    """
    scenario = loads(json.dumps({**imported, "events": []}), application.id)
    steady = base_document(scenario)
    steady["application"]["configs"] = {**steady["application"].get("configs", {}), **application.configs}
    for client in steady["clients"]:
        client["static_membership"] = application.is_static
    crashed, more = hosts[1], hosts[HOSTS]
    crash = with_absence(steady, application, crashed, "crash")
    yield f"{crashed.name} crashes", _outcome(crash, application, 0, DOWN_MS)
    yield f"{crashed.name} returns after the crash", _outcome(crash, application, DOWN_MS, STEP_DURATION_MS)
    join = with_new_host(steady, application, more)
    yield f"{more.name} joins", _outcome(join, application, 0, STEP_DURATION_MS)
    larger = {**join, "events": [], "clients": [{**client, "starts": True} for client in join["clients"]]}
    leave = with_departure(larger, application, more)
    yield f"{more.name} leaves", _outcome(leave, application, 0, STEP_DURATION_MS)


def _outcome(document: Document, application: TestedApplication, from_ms: int, until_ms: int) -> StepOutcome:
    """Return the outcome of a period after the event, which is when the group has long formed."""
    [event] = document["events"]
    later = {**document, "events": [{**event, "at": FORMED_MS}], "duration": FORMED_MS + STEP_DURATION_MS}
    trace, _ = simulate_document(later, application.assignor, application.id)
    return predict_outcome(trace, FORMED_MS + from_ms, FORMED_MS + until_ms)


def misses(step: Confirmation) -> list[str]:
    """Return what was not as predicted.

    Rebalances may be one more or less, times may differ as in `is_close`. With the range of client times, a step may
    have several numbers of rebalances, and times between the earliest and the latest one.
    """
    predicted, observed = step.predicted_outcome, step.outcome
    possible = (predicted, *step.range)
    missed = []
    if predicted.cross_rack_partitions != observed.cross_rack_partitions:
        missed.append(f"cross-rack partitions: {predicted.cross_rack_partitions} → {observed.cross_rack_partitions}")
    if predicted.active_moves != observed.active_moves:
        missed.append(f"active moves: {predicted.active_moves} → {observed.active_moves}")
    counts = [len(outcome.rebalances_ms) for outcome in possible]
    if not min(counts) - 1 <= len(observed.rebalances_ms) <= max(counts) + 1:
        missed.append(f"rebalances: {counts[0]} → {len(observed.rebalances_ms)}")
    if not _is_within([outcome.converged_ms for outcome in possible], observed.converged_ms):
        times = (format_times([outcome.converged_ms]) for outcome in (predicted, observed))
        missed.append(f"time to converge: {' → '.join(times)}")
    return missed


def needs_range(step: Confirmation) -> bool:
    """Return whether a step is only as predicted because its time may lie within the range of client times."""
    return not misses(step) and bool(misses(replace(step, range=())))


def _is_within(possible_ms: Sequence[int | None], observed_ms: int | None) -> bool:
    """Return whether a time is close to a possible one, or between two of them."""
    known = [at_ms for at_ms in possible_ms if at_ms is not None]
    if observed_ms is None or not known:
        return observed_ms is None and None in possible_ms
    is_between = min(known) <= observed_ms <= max(known)
    return is_between or any(is_close(at_ms, observed_ms) for at_ms in known)
