"""Time until a checkup's first report card, and until its last one: `make bench`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.memory import ROOT

pytestmark = pytest.mark.bench

PARTITIONS, CLIENTS, THREADS, BROKERS = 100, 20, 4, 9
STATE_BYTES = 10**9
"""The size of a changelog partition."""

TOPOLOGY = """Topologies:
   Sub-topology: 0
    Source: source (topics: [orders])
      --> count
    Processor: count (stores: [counts])
      --> sink
      <-- source
    Sink: sink (topic: by-customer-repartition)
      <-- count

  Sub-topology: 1
    Source: by-customer (topics: [by-customer-repartition])
      --> total
    Processor: total (stores: [totals])
      --> none
      <-- by-customer
"""
STATE = {"shop-counts-changelog", "shop-totals-changelog"}
TOPICS = ("orders", "shop-by-customer-repartition", *sorted(STATE))


def write_dumps(folder: Path) -> Sequence[str]:
    """Write the output of Kafka's tools for 200 tasks on 20 clients in three racks; return the options to read it."""
    draw = np.random.default_rng(1)
    lines, sizes = [], []
    for topic in TOPICS:
        lines.append(f"Topic: {topic}\tPartitionCount: {PARTITIONS}\tReplicationFactor: 3\tConfigs: ")
        for partition in range(PARTITIONS):
            replicas = draw.permutation(3) + 1 + 3 * draw.integers(BROKERS // 3)
            ids = ",".join(map(str, replicas))
            row = f"Topic: {topic}\tPartition: {partition}\tLeader: {replicas[0]}\tReplicas: {ids}\tIsr: {ids}"
            lines.append(f"\t{row}")
            size = STATE_BYTES if topic in STATE else 0
            sizes += [
                f'{{"partition":"{topic}-{partition}","size":{size},"offsetLag":0,"isFuture":false}}' for _ in replicas
            ]
    disk = f'{{"logDir":"/data","error":null,"partitions":[{",".join(sizes)}]}}'
    tasks = [(topic, partition) for topic in TOPICS[:2] for partition in range(PARTITIONS)]
    members = ["GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT"]
    for thread in range(CLIENTS * THREADS):
        client = f"shop-{UUID(int=1 + thread // THREADS)}-StreamThread-{1 + thread % THREADS}-consumer"
        held = tasks[thread :: CLIENTS * THREADS]
        by_topic = [(topic, [str(number) for name, number in held if name == topic]) for topic in TOPICS]
        assigned = ", ".join(f"{topic}({','.join(numbers)})" for topic, numbers in by_topic if numbers)
        members.append(f"shop {client}-{UUID(int=thread)} /10.0.0.1 {client} {len(held)} {assigned}")
    (folder / "topics.txt").write_text("\n".join(lines) + "\n")
    (folder / "log_dirs.txt").write_text(f'{{"version":1,"brokers":[{{"broker":1,"logDirs":[{disk}]}}]}}\n')
    (folder / "brokers.txt").write_text("".join(["id,rack\n", *(f"{i},az{i % 3}\n" for i in range(1, BROKERS + 1))]))
    (folder / "group.txt").write_text("\n".join(members) + "\n")
    (folder / "topology.txt").write_text(TOPOLOGY)
    racks = (("--rack", f"shop-{UUID(int=1 + client)}=az{client % 3}") for client in range(CLIENTS))
    rates = (("--set", f"cluster.topics[{topic}].bytes_per_s=50 MB/s") for topic in TOPICS)
    return "--from", str(folder), "--group", "shop", "--config", "num.standby.replicas=0", *sum((*racks, *rates), ())


def first_card_s(command: Sequence[str]) -> float:
    """Run a checkup, and return the seconds until the first report card was on standard error."""
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        next(line for line in lines if line.startswith("First answer"))
        first_s = time.perf_counter() - started
        process.stderr.read()
    assert process.returncode == 0
    return first_s


@pytest.mark.parametrize(
    ("name", "goal_s", "first_goal_s"), [("order_processing", 90, 7), ("200 tasks on 20 clients, from dumps", 180, 15)]
)
def test_checkup(benchmark: BenchmarkFixture, tmp_path: Path, name: str, goal_s: int, first_goal_s: int) -> None:
    arguments = (name,) if " " not in name else write_dumps(tmp_path)
    command = [sys.executable, "-m", "assignor_sim", "checkup", *arguments]
    first_s = benchmark.pedantic(first_card_s, args=(command,), rounds=1)
    benchmark.extra_info |= {
        "what": f"`checkup` of {name}; the first report card after {first_s:.1f} s (goal {first_goal_s} s)",
        "goal_ms": 1_000 * goal_s,
        "peak_bytes": None,
    }
