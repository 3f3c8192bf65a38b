"""An observation of a running application, for tests."""

from __future__ import annotations

from scenarios.kafka.observation.observation import (
    Observation,
    ObservedBroker,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    ObservedTopic,
)

FIRST = "8f3b2c1d-0a4e-4b6f-9c7d-1e2f3a4b5c6d"
SECOND = "f1111111-2222-3333-4444-555555555555"
REPARTITION = "shop-by-customer-repartition"
TOTALS = "shop-totals-changelog"

TOPICS = (
    ObservedTopic("customers", ((1, 2), (2, 3)), (1, 2), (500, 300), (0, 0), (10, 6), (0.0, 0.0)),
    ObservedTopic("orders", ((1, 2), (2, 3)), (2, 2), (1_000, 3_000), (50, 100), (100, 150), (2.0, 4.0)),
    ObservedTopic("results", ((3,),), (-1,)),
    ObservedTopic(REPARTITION, ((1, 2), (2, 3)), (1, 2), (40, 40), (0, 0), (4, 4), (1.0, 1.0)),
    ObservedTopic(TOTALS, ((1, 2), (2, 3)), (1, 2), (90, 30), (0, 0), (1_000, 500), (0.5, 0.25)),
)

SUBTOPOLOGIES = (
    ObservedSubtopology(0, ("orders",), writes=(REPARTITION,)),
    ObservedSubtopology(
        1,
        ("customers", REPARTITION),
        changelogs={"customers-store": "customers", "totals": TOTALS},
        unlogged_stores=("cache",),
        writes=("results", "elsewhere"),
    ),
)

PROCESSES = (
    ObservedProcess(
        FIRST,
        f"shop-{FIRST}",
        "az1",
        {"zone": "az1"},
        (
            ObservedThread("c-1", ("0_0",), ()),
            ObservedThread("c-2", ("1_0",), ("1_1",)),
        ),
        offset_sums={"0_0": -2, "1_0": -2, "1_1": 400},
    ),
    ObservedProcess(
        SECOND,
        f"shop-{SECOND}",
        "az2",
        {"zone": "az2"},
        (ObservedThread("c-3", ("0_1", "1_1"), ()),),
        offset_sums={"0_1": -2, "1_0": 900, "1_1": -2, "7_0": 3},
        is_static=True,
    ),
)

OBSERVATION = Observation(
    source="kafka.example:9092",
    brokers=(ObservedBroker(1, "az1"), ObservedBroker(2, "az2"), ObservedBroker(3, "az2")),
    topics=TOPICS,
    application_id="shop",
    protocol="classic",
    subtopologies=SUBTOPOLOGIES,
    processes=PROCESSES,
    configs={
        "application.id": "shop",
        "num.standby.replicas": "1",
        "num.stream.threads": "2",
        "rack.aware.assignment.tags": "zone",
        "rack.aware.assignment.strategy": "min_traffic",
        "sasl.jaas.config": "password=hunter2",
    },
    broker_configs={
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "log.dirs": "/data",
    },
    next_rebalance_ms=480_000,
    client_release="4.3.1",
    assumptions=("Rates are assumed constant.",),
)
