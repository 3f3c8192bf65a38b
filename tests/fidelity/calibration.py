"""Measure the times of a real client, from which the defaults of scenarios come (`application.times`).

One application alone joins and restarts on a real cluster; its own log shows when it opened stores, had restored little
state, and rejoined. The result is `tests/fidelity/calibration.json`.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.world.world import ClientTimes
from tests.fidelity.applications import BROKER_CONFIGS, COMMON
from tests.fidelity.client_log import ClientSamples, read_samples
from tests.kafka_cluster.applications import Host, Hosts, prepare
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster

FILE = Path(__file__).with_name("calibration.json")
APPLICATION = "calibrated"
RACKS = ("az1", "az2", "az3")
RECORDS = 2_000
NUM_TASKS = 26
QUIET_S = 4.0
STABLE_TIMEOUT_S = 120
ROUND_TO_MS = 10
MIN_UNCERTAINTY = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured times of a client.

    Attributes:
        kafka: Release of Kafka.
        date: Date of the measurement.
        machine: Processor, number of cores and system.
        times: Median, 10th and 90th percentile, and number of samples, by name of the time.
    """

    kafka: str
    date: str
    machine: str
    times: Mapping[str, Mapping[str, float]]

    def client_times(self) -> ClientTimes:
        """Return the times as defaults of scenarios: medians, rounded; events say when a process is up."""
        return ClientTimes(
            open_store_ms=self._rounded("open_store"),
            restore_start_ms=self._rounded("restore_start"),
            rejoin_ms=self._rounded("rejoin"),
            uncertainty=MIN_UNCERTAINTY,
        )

    def _rounded(self, name: str) -> int:
        return round(self.times[name]["median_ms"] / ROUND_TO_MS) * ROUND_TO_MS

    def __str__(self) -> str:
        lines = [f"Kafka {self.kafka}, {self.machine}, {self.date}"]
        for name, time_ in self.times.items():
            lines.append(
                f"{name:15} {time_['median_ms']:7.0f} ms  "
                f"(10 to 90 %: {time_['p10_ms']:.0f} to {time_['p90_ms']:.0f}, {time_['samples']:.0f} samples)"
            )
        return "\n".join(lines)


def calibrate(kafka_version: str, repetitions: int) -> Calibration:
    """Run an application alone through joins and restarts, and measure it.

    Args:
        kafka_version: Release of Kafka.
        repetitions: Number of hosts that join, and of their restarts with their disk.

    Raises:
        ClusterError: Kafka, Java or Maven failed, or the application did not become stable.
    """
    spec = ClusterSpec(brokers=len(RACKS), racks=RACKS, kafka_version=kafka_version, broker_configs=BROKER_CONFIGS)
    samples = ClientSamples()
    with KafkaCluster(spec) as cluster, Hosts(cluster) as hosts:
        prepare(cluster, RECORDS)
        first, *others = [hosts.add(f"c{number}", RACKS[number % len(RACKS)]) for number in range(repetitions + 1)]
        _start(hosts, first)
        for host in others:
            samples.add(_start(hosts, host))
        for host in others:
            host.stop()
            _wait_until_stable(hosts)
            samples.add(_start(hosts, host))
        for host in hosts.running():
            samples.rejoin.extend(read_samples(host.log.read_text(errors="replace")).rejoin)
    return summarize(samples, kafka_version)


def summarize(samples: ClientSamples, kafka_version: str) -> Calibration:
    """Return medians and spread of samples.

    Raises:
        ValueError: A time was never measured.
    """
    measured = {name: getattr(samples, name) for name in ("open_store", "restore_start", "rejoin", "start")}
    for name, values in measured.items():
        if not values:
            raise ValueError(f"the logs show no sample of {name}")
    return Calibration(
        kafka_version,
        datetime.now(UTC).date().isoformat(),
        _machine(),
        {name: _spread(values) for name, values in measured.items()},
    )


def write(calibration: Calibration, file: Path = FILE) -> None:
    """Store a calibration."""
    content = {
        "kafka": calibration.kafka,
        "date": calibration.date,
        "machine": calibration.machine,
        "times": calibration.times,
    }
    file.write_text(json.dumps(content, indent=2) + "\n")


def read(file: Path = FILE) -> Calibration:
    """Return the stored calibration."""
    content: dict[str, Any] = json.loads(file.read_text())
    return Calibration(content["kafka"], content["date"], content["machine"], content["times"])


def _start(hosts: Hosts, host: Host) -> ClientSamples:
    """Start a host, wait until nothing changes, and return what its log shows since then, except its rejoining."""
    started_ms = round(time.time() * 1000)
    host.start({APPLICATION: COMMON})
    _wait_until_stable(hosts)
    samples = read_samples(host.log.read_text(errors="replace"), started_ms)
    samples.rejoin.clear()
    return samples


def _wait_until_stable(hosts: Hosts) -> None:
    def is_stable() -> bool:
        histories = [host.task_history(APPLICATION) for host in hosts.running()]
        quiet_since_ms = (time.time() - QUIET_S) * 1000
        is_quiet = all(
            history and history[-1].state == "RUNNING" and history[-1].at_ms < quiet_since_ms for history in histories
        )
        return is_quiet and sum(len(history[-1].active) for history in histories) == NUM_TASKS

    hosts.wait_until("all tasks run and nothing changes", is_stable, STABLE_TIMEOUT_S)


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)

    def percentile(percent: float) -> float:
        return ordered[min(len(ordered) - 1, math.floor(len(ordered) * percent / 100))]

    return {
        "median_ms": round(statistics.median(ordered), 1),
        "p10_ms": round(percentile(10), 1),
        "p90_ms": round(percentile(90), 1),
        "samples": len(ordered),
    }


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
