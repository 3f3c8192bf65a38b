"""Plain consumers (`Consumers.java`) on a running cluster, which start, close and crash at given times."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kafka_cluster.cluster import KafkaCluster
from tools.java import ClusterError, start_java, stop_java, tail

CONSUMERS = "assignorsim.Consumers"
READY = "ready"
READY_TIMEOUT_S = 60
LEAD_MS = 500
STOP_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class PlannedConsumer:
    """A consumer of a group, with times from the start of the plan.

    Attributes:
        group: The `group.id`.
        name: Its name within the group.
        topics: The topics to which it subscribes.
        configs: Its configs.
        starts_ms: When it starts.
        closes_ms: When it closes, None for never.
        crashes_ms: When its process is killed, None for never.
    """

    group: str
    name: str
    topics: tuple[str, ...]
    configs: Mapping[str, object]
    starts_ms: int = 0
    closes_ms: int | None = None
    crashes_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ConsumerEvent:
    """What a consumer has printed.

    Attributes:
        at_ms: Time from the start of the plan.
        group: The `group.id`.
        name: Its name.
        what: `assigned`, `revoked`, `lost` or `generation`.
        member_id: Its member id.
        generation: Its generation, or member epoch.
        partitions: The partitions concerned; for `generation`, all that it owns.
    """

    at_ms: int
    group: str
    name: str
    what: str
    member_id: str
    generation: int
    partitions: frozenset[str]


def run_consumers(
    cluster: KafkaCluster,
    planned: Sequence[PlannedConsumer],
    duration_ms: int,
    on_start: Callable[[int], object] | None = None,
) -> list[ConsumerEvent]:
    """Run consumers for some time; those that crash together share a JVM, and all others do.

    Args:
        cluster: The cluster.
        planned: The consumers.
        duration_ms: When to stop, from the start of the plan.
        on_start: Called with the time at which the plan starts, in milliseconds since 1970.

    Returns:
        The events by time.

    Raises:
        ClusterError: A JVM exits by itself.
    """
    folder = Path(tempfile.mkdtemp(prefix="consumers-", dir=cluster.work_dir))
    by_crash: dict[int | None, list[str]] = {}
    for consumer in planned:
        key = f"{consumer.group}-{consumer.name}"
        closes = {} if consumer.closes_ms is None else {"assignorsim.closes": consumer.closes_ms}
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": consumer.group,
            "client.id": f"consumer-{consumer.group}-1",  # As if each had a JVM of its own.
            "assignorsim.name": f"{consumer.group} {consumer.name}",
            "assignorsim.topics": ",".join(consumer.topics),
            "assignorsim.starts": consumer.starts_ms,
            **closes,
            **consumer.configs,
        }
        file = folder / f"{key}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        by_crash.setdefault(consumer.crashes_ms, []).append(str(file))
    processes: dict[int | None, subprocess.Popen[bytes]] = {}
    outputs = {crash: folder / f"events-{crash}.tsv" for crash in by_crash}
    start, log = folder / "start", folder / "consumers.log"
    try:
        for crash, files in by_crash.items():
            with outputs[crash].open("wb") as output:
                processes[crash] = start_java(
                    cluster.classpath,
                    CONSUMERS,
                    [str(start), *files],
                    cwd=folder,
                    log=log,
                    heap_mb=128,
                    output=output,
                )
        _await_ready(list(outputs.values()), log)
        base_ms = int(time.time() * 1000) + LEAD_MS
        partial = start.with_suffix(".partial")
        partial.write_text(str(base_ms))
        partial.rename(start)
        if on_start is not None:
            on_start(base_ms)
        for crash in sorted(crash for crash in processes if crash is not None):
            _sleep_until(base_ms + crash)
            processes[crash].kill()
        _sleep_until(base_ms + duration_ms)
        survivor = processes.get(None)
        if survivor is not None and survivor.poll() not in (None, 0):
            raise ClusterError(f"the consumers exited with code {survivor.returncode}; {log}:\n{tail(log)}")
        lines = [line for file in outputs.values() for line in file.read_text().splitlines() if line != READY]
    finally:
        stop_java(list(processes.values()), STOP_TIMEOUT_S)
    return sorted((_parse(line, base_ms) for line in lines), key=lambda event: event.at_ms)


def _await_ready(outputs: Sequence[Path], log: Path) -> None:
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while not all(READY in file.read_text() for file in outputs):
        if time.monotonic() > deadline_s:
            raise ClusterError(f"the consumers are not ready after {READY_TIMEOUT_S} s; {log}:\n{tail(log)}")
        time.sleep(0.1)


def _sleep_until(at_ms: int) -> None:
    time.sleep(max(0.0, at_ms / 1000 - time.time()))


def _parse(line: str, base_ms: int) -> ConsumerEvent:
    at_ms, name, what, member_id, generation, *partitions = line.split("\t")
    group, member = name.split(" ")
    listed = frozenset(partitions[0].split(",")) if partitions and partitions[0] else frozenset()
    return ConsumerEvent(int(at_ms) - base_ms, group, member, what, member_id, int(generation), listed)
