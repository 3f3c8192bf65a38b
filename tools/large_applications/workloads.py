"""The large workloads, by the code on `PYTHONPATH`.

This file is executed as a script, also with the packages of an older revision, so it uses only what both have. It
prints the figures of one workload as JSON.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import simulator.assignment.leader as group_leader
from scenarios.load import Scenario, load, loads
from scenarios.run import run
from simulator.assignment.rebalance import compute_assignment
from simulator.results.tabulation import tabulate

Figures = dict[str, float]

REPOSITORY = Path(__file__).resolve().parents[2]
PROBLEM = REPOSITORY / "tests/benchmarks/problems/rack-balance_subtopology-3000x300-r3x1-fresh.json.gz"
GROUP = """
name: {name}
cluster:
  brokers: {{count: {brokers}, racks: [az1, az2, az3]}}
  topics:
    - {{name: orders, partitions: {half}, bytes_per_s: 50 MB/s, size: 500 GB}}
    - {{name: views, partitions: {half}, bytes_per_s: 25 MB/s, size: 500 GB}}
application:
  id: app
  leader_speed: {speed}        # at its real speed, the leader would never finish
  configs: {{{configs}}}
  subtopologies:
    - {{sources: [orders], stores: [{{name: totals, size: 100 GB, bytes_per_s: 5 MB/s, record_size: 100}}]}}
    - {{sources: [views]}}
clients:
  - {{name: app, count: {clients}, racks: [az1, az2, az3], threads: 4}}
  - {{name: new, count: {added}, racks: [az1, az2, az3], threads: 4, starts: false}}
events:
{events}
duration: {duration}
"""
LEADER_SPEED = 1_000
ASSIGNOR = "high_availability"


def grown_group(more_events: str, duration: str) -> Scenario:
    """Return 5,000 tasks on 500 clients, to which 100 are added after an hour."""
    return loads(
        GROUP.format(
            name="grown",
            speed=LEADER_SPEED,
            brokers=9,
            half=2_500,
            configs="rack.aware.assignment.strategy: min_traffic, num.standby.replicas: 1",
            clients=500,
            added=100,
            events=f"  - {{at: 1h, scale_out: {{clients: new}}}}\n{more_events}",
            duration=duration,
        )
    )


def rebalance() -> Figures:
    """Median over all rebalances of the assignor's time, with the predicted compute time of Kafka's leader."""
    times: list[float] = []
    predicted_seconds: list[float] = []

    def timed(*arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        computed = compute_assignment(*arguments, **named)
        times.append(time.perf_counter() - started)
        predicted_seconds.append(computed.leader_compute_ms * LEADER_SPEED / 1000)
        return computed

    scenario = grown_group("", "3h")
    with patch.object(group_leader, "compute_assignment", timed):
        run(scenario, ASSIGNOR)
    return {
        "seconds": statistics.median(times),
        "times": len(times),
        "predicted_seconds": statistics.median(predicted_seconds),
    }


def rolling_restart() -> Figures:
    """A day in which all 500 old clients are restarted from the third hour on."""
    scenario = grown_group("  - {at: 3h, rolling_bounce: {clients: app, down: 20s, pause: 40s}}", "24h")
    return _timed_run(scenario)


def day() -> Figures:
    """A day with 1,000 tasks on 100 clients, and more than a thousand rebalances."""
    return _timed_run(loads(_day_text()))


def page() -> Figures:
    """The page of that day, from its stored results."""
    command = [sys.executable, "-m", "assignor_sim"]
    with tempfile.TemporaryDirectory() as folder:
        scenario, results, html = f"{folder}/day.yaml", f"{folder}/results", f"{folder}/page.html"
        Path(scenario).write_text(_day_text())
        subprocess.run([*command, "run", scenario, "--out", results], check=True, capture_output=True)
        seconds = _seconds(
            lambda: subprocess.run([*command, "report", results, "-o", html], check=True, capture_output=True)
        )
        return {"seconds": seconds, "bytes": os.path.getsize(html)}


def _day_text() -> str:
    """Return a scenario with a rolling bounce every two hours, and crashes."""
    bounces = [f"  - {{at: {h}h, rolling_bounce: {{clients: app, down: 20s, pause: 40s}}}}" for h in range(2, 24, 2)]
    text = GROUP.format(
        name="a day of bounces and churn",
        speed=LEADER_SPEED,
        brokers=9,
        half=500,
        configs="rack.aware.assignment.strategy: min_traffic",
        clients=100,
        added=1,
        events="\n".join([*bounces, "  - {at: 5m, churn: {clients: app, crashes: 6/d, down: 10m}}"]),
        duration="24h",
    )
    return re.sub(r"  - \{name: new.*\n", "", text)


def cold_start() -> Figures:
    """A run of 24 rebalances with its tables, in a process that has made others: the median of 20."""
    scenario = load(REPOSITORY / "scenarios/library/cold_start.yaml")

    def once() -> None:
        tabulate(run(scenario, ASSIGNOR), ASSIGNOR, 1)

    once()
    return {"seconds": statistics.median(_seconds(once) for _ in range(20)), "times": 20}


def largest() -> Figures:
    """20,000 tasks on 2,000 clients: loading, the first assignment, and the start of 200 of them later."""
    started = time.perf_counter()
    scenario = loads(
        GROUP.format(
            name="largest",
            speed=LEADER_SPEED,
            brokers=30,
            half=10_000,
            configs="num.standby.replicas: 1",
            clients=1_800,
            added=200,
            events="  - {at: 30m, scale_out: {clients: new}}",
            duration="40m",
        )
    )
    trace = run(scenario, ASSIGNOR)
    return {"seconds": time.perf_counter() - started, "rebalances": len(trace.rounds)}


def assignment() -> Figures:
    """`balance_subtopology` with 3,000 tasks on 300 clients that have run nothing: the median of 3."""
    from assignors import registry
    from scenarios.problems import parse_problem

    with gzip.open(PROBLEM, "rt", encoding="utf-8") as source:
        state = parse_problem(json.load(source))
    assignor = registry.make(registry.find("ha"), {})
    assignor.assign(state)
    return {"seconds": statistics.median(_seconds(lambda: assignor.assign(state)) for _ in range(3)), "times": 3}


def ingest(readings: str) -> Figures:
    """An ingest by Spark on two cores that has started."""
    from pipeline.ingest.mapping import find_mapping
    from pipeline.ingest.run import IngestSources
    from pipeline.ingest.run import ingest as ingest_readings
    from pipeline.session import connect

    fast_start = _starts_fast(readings)
    with tempfile.TemporaryDirectory() as folder, connect("local[2]", fast_start=fast_start) as spark:
        spark.range(10).count()
        started = time.perf_counter()
        result = ingest_readings(spark, IngestSources(metrics=(readings,)), f"{folder}/in", find_mapping("plain"))
        return {"seconds": time.perf_counter() - started, "rows": result.rows}


def long_ingest(readings: str) -> Figures:
    """An ingest of ten times as many readings."""
    return ingest(readings)


def _starts_fast(readings: str) -> bool:
    """Return whether the command `ingest` starts Java for a fast start; an older revision does not."""
    try:
        from pipeline.ingest.sources import are_parquet
    except ImportError:
        return False
    return are_parquet((readings,))


def ingest_by_duckdb(readings: str) -> Figures:
    """The same rates and faults by DuckDB's window functions on two threads, without tables and quarantine."""
    import duckdb  # noqa: F401  # Its import is not measured.

    started = time.perf_counter()
    rows = rates_by_duckdb(readings)
    return {"seconds": time.perf_counter() - started, "rows": sum(row[3] for row in rows)}


def rates_by_duckdb(readings: str) -> list[tuple[Any, ...]]:
    """Return the rows of `rates.sql`, computed by DuckDB."""
    import duckdb

    query = Path(__file__).with_name("rates.sql").read_text().replace("READINGS", f"{readings}/*.parquet")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        for setting in ("threads = 2", "memory_limit = '8GB'", f"temp_directory = '{folder}'"):
            database.execute(f"SET {setting}")
        return database.execute(query).fetchall()


def sweep() -> Figures:
    """1,000 small runs by Spark on two cores, which has started, and by a pool of two processes."""
    from tools.pipeline_benchmark import CORES, by_pool, by_spark, prepare_benchmark

    with tempfile.TemporaryDirectory() as folder:
        by_pool(prepare_benchmark(40, Path(folder)), Path(folder, "warm-up"))  # Kernels are compiled.
        job = prepare_benchmark(1_000, Path(folder))
        seconds, start_seconds = by_spark(job, Path(folder, "spark"), CORES)
        pool_seconds = by_pool(job, Path(folder, "pool"))
        return {"seconds": seconds, "start_seconds": start_seconds, "pool_seconds": pool_seconds}


def _timed_run(scenario: Scenario) -> Figures:
    started = time.perf_counter()
    trace = run(scenario, ASSIGNOR)
    return {"seconds": time.perf_counter() - started, "rebalances": len(trace.rounds)}


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _peak_bytes() -> int:
    """Return the peak memory of this process, as Linux reports it."""
    [kibibytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(kibibytes) * 1024


WORKLOADS = (
    rebalance,
    rolling_restart,
    day,
    cold_start,
    largest,
    assignment,
    page,
    ingest,
    long_ingest,
    ingest_by_duckdb,
    sweep,
)

if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    workload = {function.__name__: function for function in WORKLOADS}[name]
    figures = workload(*arguments)
    print(json.dumps({**figures, "peak_bytes": _peak_bytes()}))
