"""Subtopologies from the output of `Topology.describe()`, the topics of a cluster and an observed group."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.kafka.observation.described_subtopologies import add_described_stores, describe_subtopologies
from scenarios.kafka.observation.observation import ObservationError, ObservedSubtopology, ObservedThread, ObservedTopic
from scenarios.kafka.observation.scenario_writer import scenario_text
from scenarios.load import loads
from tests.scenarios.kafka.observation.observations import OBSERVATION

TEXT = "the topology"
ORDERS, VIEWS = ObservedSubtopology(0, ("orders",)), ObservedSubtopology(1, ("views",))

TABLE = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000001 (topics: [orders])
      --> KTABLE-SOURCE-0000000002, seen-processor
    Processor: KTABLE-SOURCE-0000000002 (stores: [orders-table])
      --> none
      <-- KSTREAM-SOURCE-0000000001
    Processor: seen-processor (stores: [seen])
      --> sink
      <-- KSTREAM-SOURCE-0000000001
    Sink: sink (topic: out)
      <-- seen-processor
"""

FOREIGN_KEYS = (Path(__file__).parent / "recorded" / "topology_with_foreign_keys.txt").read_text()
"""Output of Kafka 4.3.1 for a foreign-key join of orders and customers, and a table of shops."""

REGISTRATION = "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"
RESPONSE = "shop-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic"
ORDERS_LOG, CUSTOMERS_LOG, SUBSCRIPTIONS_LOG = (
    f"shop-{store}-changelog"
    for store in (
        "orders-STATE-STORE-0000000000",
        "customers-STATE-STORE-0000000003",
        "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010",
    )
)
IN_THE_CLUSTER = (
    *("orders", "customers", "shops", "results", REGISTRATION, RESPONSE),
    *(ORDERS_LOG, CUSTOMERS_LOG, SUBSCRIPTIONS_LOG),
)
JOINED = (
    ObservedSubtopology(
        0, ("orders", RESPONSE), {"orders-STATE-STORE-0000000000": ORDERS_LOG}, writes=("results", REGISTRATION)
    ),
    ObservedSubtopology(
        1,
        ("customers", REGISTRATION),
        {
            "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010": SUBSCRIPTIONS_LOG,
            "customers-STATE-STORE-0000000003": CUSTOMERS_LOG,
        },
        writes=(RESPONSE,),
    ),
    ObservedSubtopology(2, ("shops",)),
)


def test_foreign_key_join_reads_and_writes_the_topics_between_its_subtopologies() -> None:
    assert describe_subtopologies(FOREIGN_KEYS, "shop", IN_THE_CLUSTER, TEXT) == (JOINED, ())


def test_scenario_of_a_foreign_key_join_has_its_subtopologies_stores_and_topics() -> None:
    topics = tuple(ObservedTopic(name, ((1,), (2,)), (1, 2)) for name in IN_THE_CLUSTER)
    threads = (ObservedThread("c-1", tuple(f"{part}_{number}" for part in range(3) for number in range(2)), ()),)
    process = replace(OBSERVATION.processes[0], threads=threads, offset_sums=None)
    observed = replace(OBSERVATION, topics=topics, subtopologies=JOINED, processes=(process,), next_rebalance_ms=None)
    parts = loads(scenario_text(observed)).world(1).application.subtopologies
    assert [set(part.source_topics) for part in parts] == [set(part.sources) for part in JOINED]
    assert [set(part.written_topics) for part in parts] == [set(part.writes) for part in JOINED]
    assert [{store.changelog for store in part.stores} for part in parts] == [
        set(part.changelogs.values()) for part in JOINED
    ]


def test_described_stores_are_added_to_a_running_group() -> None:
    observed = [ObservedSubtopology(joined.id, joined.sources) for joined in JOINED]
    assert add_described_stores(observed, FOREIGN_KEYS, "shop", IN_THE_CLUSTER, TEXT) == (JOINED, ())


def test_topic_named_like_an_internal_one_is_kept() -> None:
    topics = ("orders", "shop-orders", "out", "shop-out")
    [observed], _ = describe_subtopologies(TABLE, "shop", topics, TEXT)
    assert (observed.sources, observed.writes) == (("orders",), ("out",))


def test_table_without_changelog_uses_its_source_topic() -> None:
    [observed], assumptions = add_described_stores([ORDERS], TABLE, "shop", ("orders", "shop-out"), TEXT)
    assert dict(observed.changelogs) == {"orders-table": "orders"}
    assert observed.unlogged_stores == ("seen",)
    assert observed.writes == ("shop-out",)
    assert assumptions == (
        "Store orders-table has no changelog topic in the cluster; assumed restored from its source topic orders.",
        "Store seen has no changelog topic in the cluster; assumed not logged.",
    )


def test_changelogs_reported_by_the_group_take_precedence() -> None:
    reported = ObservedSubtopology(0, ("orders",), {"other": "shop-other-changelog"}, writes=("elsewhere",))
    [observed], assumptions = add_described_stores([reported], TABLE, "shop", ("orders", "out"), TEXT)
    assert dict(observed.changelogs) == {"other": "shop-other-changelog"}
    assert observed.unlogged_stores == ("orders-table", "seen")
    assert observed.writes == ("elsewhere", "out")
    assert assumptions == ()


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ([VIEWS], "the topology has subtopologies 0, but the group's tasks belong to 1"),
        (
            [ObservedSubtopology(0, ("views",))],
            "subtopology 0 reads orders according to the topology, but views in the group",
        ),
    ],
)
def test_topology_of_another_application_is_rejected(observed: list[ObservedSubtopology], message: str) -> None:
    with pytest.raises(ObservationError, match=message):
        add_described_stores(observed, TABLE, "shop", ("orders", "views"), TEXT)


def test_malformed_text_is_rejected_with_its_line() -> None:
    with pytest.raises(ObservationError, match="the topology:1: 'hello'"):
        add_described_stores([ORDERS], "hello\n", "shop", ("orders",), TEXT)
