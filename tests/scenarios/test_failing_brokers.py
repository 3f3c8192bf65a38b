"""Scenarios in which brokers fail or restart: outages that overlap, leaders, replicas that catch up, safe pauses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from scenarios.load import Scenario, loads
from scenarios.run import run
from simulator.results.tabulation import tabulate

MINUTE = 60_000
RACKS = ["a", "b", "c"]


def scenario(
    *events: dict[str, Any],
    replicas: list[list[int]] | None = None,
    client: str | None = "a",
    duration: str = "1h",
    traffic: dict[str, Any] | None = None,
    **cluster: Any,
) -> Scenario:
    """Return a scenario with brokers 0, 1 and 2 in racks a, b and c, and one client in a rack."""
    replicas = replicas or [[0, 1, 2]]
    topic = {"name": "t", "partitions": len(replicas), "replicas": replicas, "bytes_per_s": "1 MB/s"}
    document = {
        "cluster": {"brokers": {"count": 3, "racks": RACKS}, "topics": [topic], **cluster},
        "application": {"id": "app", "subtopologies": [{"sources": ["t"]}]},
        "clients": [{"name": "x"} if client is None else {"name": "x", "rack": client}],
        "events": list(events),
        "duration": duration,
        **({} if traffic is None else {"traffic": traffic}),
    }
    return loads(json.dumps(document), "brokers")


def outcome(loaded: Scenario, seed: int = 1) -> dict[str, Any]:
    """Return the figures of a run."""
    [row] = tabulate(run(loaded, "high_availability", seed), "high_availability", seed)["runs"].to_pylist()
    return dict(row)


def bounce(at: str, brokers: list[int], down: str = "1m", pause: str = "2m") -> dict[str, Any]:
    return {"at": at, "broker_bounce": {"brokers": brokers, "down": down, "pause": pause}}


def loss(at: str, brokers: list[int], **down: str) -> dict[str, Any]:
    return {"at": at, "broker_loss": {"brokers": brokers, **down}}


@pytest.mark.parametrize(
    ("first", "down_ms"),
    [
        (loss("10m", [0]), 110 * MINUTE),
        ({"at": "10m", "rack_outage": {"rack": "a", "down": "60m"}}, 60 * MINUTE),
        (loss("10m", [0], down="30m"), 30 * MINUTE),
    ],
)
def test_a_bounce_starts_no_broker_that_another_outage_keeps_down(first: dict[str, Any], down_ms: int) -> None:
    loaded = scenario(first, bounce("12m", [0, 1, 2]), replicas=[[0], [1], [2]], client="c", duration="2h")
    assert outcome(loaded)["worst_downtime_ms"] == down_ms


def test_a_broker_that_returns_takes_no_lead_from_an_in_sync_leader() -> None:
    figures = outcome(scenario(loss("10m", [0]), bounce("20m", [1]), client="c"))
    assert figures["cross_rack_bytes"] == pytest.approx(20 * 60 * 1e6, rel=0.01), "broker 2 leads from 20m on"


@pytest.mark.parametrize(
    ("release", "configs", "cross_rack_s"),
    [
        ("4.4", {}, (60, 360)),
        ("4.4", {"leader.imbalance.check.interval.seconds": 30}, (60, 90)),
        ("3.9", {}, (300, 300)),
        ("4.4", {"auto.leader.rebalance.enable": False}, (3_000, 3_000)),
    ],
)
def test_preferred_leader_returns_at_a_check(
    release: str, configs: dict[str, Any], cross_rack_s: tuple[int, int]
) -> None:
    loaded = scenario(bounce("10m", [0]), kafka=release, configs=configs)
    passed = [outcome(loaded, seed)["cross_rack_bytes"] / 1e6 for seed in range(1, 11)]
    assert cross_rack_s[0] <= min(passed) <= max(passed) <= cross_rack_s[1] + 0.1
    assert (len(set(passed)) > 1) == (cross_rack_s[0] < cross_rack_s[1]), "the phase of periodic checks is random"


WRITES = {"default.replication.factor": 3, "min.insync.replicas": 2}


def fast_changelog(pause: str, events: list[dict[str, Any]] | None = None, **brokers: Any) -> Scenario:
    """Return a scenario in which restarted brokers miss much of the 300 MB/s that are produced."""
    document = {
        "cluster": {
            "brokers": {"count": 3, **brokers},
            "configs": WRITES,
            "topics": [{"name": "in", "partitions": 3, "replication_factor": 3, "bytes_per_s": "300 MB/s"}],
        },
        "application": {
            "id": "a",
            "subtopologies": [{"sources": ["in"], "stores": [{"name": "s", "size": "1 GB", "bytes_per_s": "10 MB/s"}]}],
        },
        "clients": [{"name": "p", "count": 2}],
        "events": events or [bounce("1m", [0, 1, 2], "10m", pause)],
        "duration": "1h",
    }
    return loads(json.dumps(document), "fast")


def test_the_warning_names_a_pause_that_suffices() -> None:
    short = fast_changelog("1s")
    [warning] = [warning for warning in short.warnings if "in sync" in warning]
    assert "events[0].broker_bounce.pause" in warning
    assert warning.endswith(
        "broker 1 stops before the replicas of broker 0 are in sync again; a pause of 3m27s suffices"
    )
    assert outcome(short)["worst_downtime_ms"] > 3 * MINUTE
    # Of 310 MB/s, a broker misses 186 GB in 10 minutes, and catches up at 1.25 GB/s less 310 MB/s: 198 s, if alone.
    sufficient = fast_changelog("3m27s")
    assert not [warning for warning in sufficient.warnings if "in sync" in warning]
    assert outcome(sufficient)["worst_downtime_ms"] == 0
    assert outcome(fast_changelog("3m20s"))["worst_downtime_ms"] > 0


def test_separate_restarts_have_a_warning_that_names_the_earliest_safe_times() -> None:
    events = [bounce(at, [broker], "10m") for broker, at in enumerate(("1m", "11m1s", "21m2s"))]
    separate = fast_changelog("1s", events=events)
    first, second = (warning for warning in separate.warnings if "in sync" in warning)
    assert first.endswith(
        "events[1].at: broker 1 stops at 11m1s, before the replicas of broker 0 are in sync again; the earliest safe "
        "time is 14m27s"
    )
    assert second.endswith(
        "events[2].at: once the restarts before it are safe, broker 2 stops at 21m2s, before the replicas of broker 1 "
        "are in sync again; the earliest safe time is 27m54s"
    )
    assert outcome(separate)["worst_downtime_ms"] > 2 * MINUTE
    for broker, at in ((1, "14m27s"), (2, "27m54s")):
        events[broker]["at"] = at
    assert outcome(fast_changelog("1s", events=events))["worst_downtime_ms"] == 0


def test_restarts_that_begin_together_have_a_warning() -> None:
    together = fast_changelog("1s", events=[bounce("0s", [broker], "10m") for broker in (0, 1)])
    [warning] = (warning for warning in together.warnings if "in sync" in warning)
    assert "events[1].at: broker 1 stops at 0s, before the replicas of broker 0 are in sync again" in warning


def test_replicas_catch_up_at_the_rate_of_their_brokers() -> None:
    slow = fast_changelog("1m", replication="500 MB/s")
    assert any(re.search(r"a pause of \S+ suffices$", warning) for warning in slow.warnings)
    never = fast_changelog("1m", replication="300 MB/s")
    assert any(warning.endswith("no pause within a day suffices") for warning in never.warnings)


@pytest.mark.parametrize(
    ("configs", "unavailable_min"),
    [({}, 20), ({"replica.lag.time.max.ms": "1h"}, 0), ({"unclean.leader.election.enable": True}, 0)],
)
def test_a_replica_that_lagged_for_too_long_leads_only_by_an_unclean_election(
    configs: dict[str, Any], unavailable_min: int
) -> None:
    """Broker 1 replicates 0.5 of 1 MB/s; it is out of sync when the leader crashes, unless it may lag for longer."""
    brokers = [{"id": 0}, {"id": 1, "replication": "0.5 MB/s"}]
    loaded = scenario(loss("30m", [0], down="20m"), replicas=[[0, 1]], brokers=brokers, configs=configs, client=None)
    assert outcome(loaded)["worst_unavailable_ms"] == unavailable_min * MINUTE


def test_followers_lag_in_a_busy_hour() -> None:
    """Without an event of brokers, too: the leader fails when the follower is out of sync, or in sync again."""
    brokers = [{"id": 0}, {"id": 1, "replication": "2.5 MB/s"}]
    traffic = {"hourly": [1, 3, 1] * 8}

    def unavailable_ms(at: str) -> int:
        loaded = scenario(
            loss(at, [0], down="5m"),
            replicas=[[0, 1]],
            brokers=brokers,
            client=None,
            duration="3h",
            traffic=traffic,
        )
        assert [warning for warning in loaded.warnings if "replicate less" in warning]
        return int(outcome(loaded)["worst_unavailable_ms"])

    assert [unavailable_ms(at) for at in ("50m", "1h10m", "2h10m", "2h30m")] == [0, 5 * MINUTE, 5 * MINUTE, 0]


def test_a_warning_names_brokers_that_replicate_less_than_is_produced() -> None:
    brokers = [{"id": 0}, {"id": 1, "replication": "999 kB/s"}, {"id": 2, "replication": "1 MB/s"}]
    loaded = scenario(brokers=brokers, client=None)
    [warning] = [warning for warning in loaded.warnings if "replicate less" in warning]
    assert warning.endswith("leave the in-sync set: 1")


def test_a_process_that_is_killed_while_it_closes_loses_its_state_without_any_crash() -> None:
    """Close takes longer than the grace period; under exactly-once without a checkpoint, the store is wiped."""
    document = {
        "cluster": {"brokers": {"count": 1}, "topics": [{"name": "in", "partitions": 1, "bytes_per_s": "1 MB/s"}]},
        "application": {
            "id": "a",
            "kafka": "4.1",
            "configs": {"processing.guarantee": "exactly_once_v2", "session.timeout.ms": "5m"},
            "subtopologies": [{"sources": ["in"], "stores": [{"name": "s", "size": "10 GB", "bytes_per_s": "1 MB/s"}]}],
        },
        "clients": [{"name": "p", "count": 2, "static_membership": True}],
        "events": [{"at": "1m", "rolling_bounce": {"clients": "p", "close": "50s", "grace": "30s", "down": "10s"}}],
        "duration": "1h",
    }
    killed = loads(json.dumps(document), "killed")
    with_crash = {**document, "events": [*document["events"], {"at": "50m", "crash": {"clients": "p", "disk": "kept"}}]}
    restored = [outcome(loaded)["restored_bytes"] for loaded in (killed, loads(json.dumps(with_crash), "killed"))]
    assert min(restored) >= 10e9
