"""What logs of clients say about their clients."""

from __future__ import annotations

import json

import pytest

from scenarios.kafka.formats.logs import read_client_log, split_log
from scenarios.kafka.formats.topology import parse_topology

TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: S0 (topics: [orders])
      --> R
    Sink: R (topic: by-customer-repartition)
      <-- S0

  Sub-topology: 1
    Source: S1 (topics: [by-customer-repartition])
      --> A
    Processor: A (stores: [totals])
      --> none
      <-- S1

"""
LOG = (
    "2026-02-01 09:59:58,000 [main] INFO  shop.Main - Starting\n"
    f"2026-02-01 09:59:59,000 [main] INFO  shop.Main - Topology: {TOPOLOGY}"
    "2026-02-01 10:00:00,000 [main] INFO  o.a.k.common.utils.AppInfoParser - Kafka version: 3.9.1\n"
    "2026-02-01 10:00:01,000 [t] INFO  o.a.k.c.c.i.ConsumerCoordinator - [Consumer clientId=shop-1-consumer, "
    "groupId=shop] Successfully joined group\n"
)


def _stamped(prefix: str) -> str:
    return "".join(f"{prefix}2026-02-01T10:00:00.000000000Z {line}\n" for line in LOG.splitlines())


JSON = json.dumps({"message": f"Topology: {TOPOLOGY}", "timestamp": "2026-02-01T09:59:59Z"}) + "\n"


@pytest.mark.parametrize("text", [LOG, LOG.replace("\n", "\r\n"), _stamped(""), _stamped("[pod/shop-0/shop] ")])
def test_release_group_and_topology_are_found(text: str) -> None:
    [log] = map(read_client_log, split_log(text))
    assert log.groups == {"shop"}
    assert log.version is not None
    assert log.version.version == "3.9.1"
    [topology] = log.topologies
    printed, expected = parse_topology(topology), parse_topology(TOPOLOGY)
    assert [(sub.id, sub.line, sub.sinks) for sub in printed] == [(sub.id, sub.line + 1, sub.sinks) for sub in expected]
    assert [store.name for sub in printed for store in sub.stores] == ["totals"]


def test_topology_in_a_json_line_is_found() -> None:
    [log] = map(read_client_log, split_log(JSON + JSON))
    first, second = (parse_topology(topology) for topology in log.topologies)
    assert [sub.id for sub in first] == [sub.id for sub in second] == [0, 1]


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("Kafka version : 2.0.1", "2.0.1"),
        ("Kafka version: 7.9.0-ccs", "7.9.0-ccs"),
        ("Kafka Streams version: 3.9.0.redhat-00003", "3.9.0.redhat-00003"),
        ("Kafka version: unknown", None),
        ("Kafka version 3.9", None),
    ],
)
def test_releases_are_read_as_logged(line: str, version: str | None) -> None:
    [log] = map(read_client_log, split_log(f"2026-02-01 10:00:00 INFO {line}\n"))
    assert (log.version.version if log.version else None) == version
