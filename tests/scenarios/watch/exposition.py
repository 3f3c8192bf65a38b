"""What `watch` serves to Prometheus for a recorded group, with a value of every metric.

`python -m tests.scenarios.watch.exposition` prints it, for tests of the dashboard; with `serve PORT`, it serves
changing values, to try the dashboard with a real Prometheus.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from prometheus_client import CollectorRegistry, generate_latest

from assignor_sim.watching.outputs import MetricsAddress, StatusCollector, serve_metrics
from scenarios.kafka.observation.observation import TaskProgress
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.watch_metrics import WatchStatus
from tests.scenarios.watch.watched_groups import recorded_group


def status(at_ms: int = 1_500_000, polls: int = 2) -> WatchStatus:
    """Return a status of the recorded group at a time, with all values known."""
    application, recorded = recorded_group()
    tasks = dict.fromkeys(recorded.progress or {"0_0": None}, TaskProgress(90, 100 + polls))
    snapshot = replace(recorded, at_ms=at_ms, next_rebalance_at_ms=at_ms + 60_000, progress=tasks)
    monitor = GroupMonitor("shop")
    monitor.observe(snapshot, application)
    known = replace(monitor.status, expected_end_ms=at_ms + 90_000, rebalances=polls // 3)
    return WatchStatus("shop", known, False, at_ms, polls, polls // 5, 0.25)


def exposition() -> str:
    """Return the answer to a request of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatusCollector(status()))
    return generate_latest(registry).decode()


def serve(port: int) -> None:
    """Serve the metrics on loopback, with a new poll every second, until the process ends."""
    collector = StatusCollector(status(round(time.time() * 1_000)))
    with serve_metrics(MetricsAddress("127.0.0.1", port), collector) as address:
        print(address, flush=True)
        for polls in range(3, 100_000):
            time.sleep(1)
            collector.publish(status(round(time.time() * 1_000), polls))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]))
    else:
        print(exposition(), end="")
