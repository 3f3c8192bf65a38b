"""Random scenarios whose groups a watch can follow: failures, deployments and changes of size."""

from __future__ import annotations

import random
from typing import Any

_MINUTE = 60_000


def random_document(seed: int, protocol: str = "classic") -> dict[str, Any]:
    """Return a scenario of 4 hours with up to three events."""
    rng = random.Random(f"watch {seed}")
    configs: dict[str, Any] = {"num.standby.replicas": rng.choice((0, 0, 1))}
    if protocol == "classic":
        configs |= {
            "max.warmup.replicas": rng.choice((1, 2, 4)),
            "session.timeout.ms": rng.choice((15_000, 45_000)),
            "probing.rebalance.interval.ms": rng.choice((300_000, 600_000)),
            "rack.aware.assignment.strategy": rng.choice(("none", "min_traffic", "balance_subtopology")),
        }
    else:
        configs["group.protocol"] = "streams"
    threads = rng.choice((1, 2)) if protocol == "classic" else 1
    clients = [
        {
            "name": "old",
            "count": rng.randint(3, 5),
            "racks": ["az1", "az2", "az3"],
            "threads": threads,
            "restore": "40 MB/s",
        },
        {"name": "new", "rack": "az2", "threads": threads, "restore": "40 MB/s", "starts": False},
    ]
    return {
        "cluster": {
            "brokers": {"count": 3, "racks": ["az1", "az2", "az3"]},
            "configs": {"default.replication.factor": rng.choice((1, 3))},
            "topics": [
                {"name": "orders", "partitions": rng.randint(2, 9), "bytes_per_s": "1 MB/s", "size": "1 GB"},
                {"name": "pings", "partitions": rng.randint(1, 4), "bytes_per_s": "100 kB/s", "size": "1 GB"},
            ],
        },
        "application": {
            "id": "shop",
            "configs": configs,
            "subtopologies": [
                {
                    "sources": ["orders"],
                    "stores": [
                        {"name": "totals", "size": rng.choice(("20 MB", "4 GB", "20 GB")), "bytes_per_s": "200 kB/s"}
                    ],
                },
                {"sources": ["pings"]},
            ],
        },
        "clients": clients,
        "events": _events(rng, protocol),
        "assignors": ["high_availability" if protocol == "classic" else "streams_group_sticky"],
        "duration": "4h",
    }


def _events(rng: random.Random, protocol: str) -> list[dict[str, Any]]:
    kinds = ["join", "crash"] if protocol == "streams" else ["join", "crash", "restart", "bounce", "traffic"]
    at_ms = 20 * _MINUTE
    events: list[dict[str, Any]] = []
    for kind in rng.sample(kinds, k=min(len(kinds), rng.randint(1, 3))):
        at_ms += rng.randint(0, 40 * _MINUTE)
        if kind == "join":
            event: dict[str, Any] = {"join": {"clients": "new"}}
        elif kind == "crash":
            event = {"crash": {"clients": "old-0"}}
        elif kind == "restart":
            event = {"crash": {"clients": "old-1", "down": f"{rng.randint(60, 900)}s"}}
        elif kind == "bounce":
            event = {"rolling_bounce": {"clients": "old-1", "down": f"{rng.randint(5, 120)}s"}}
        else:
            event = {"traffic": {"factor": 2}}
        events.append({"at": at_ms, **event})
    return events
