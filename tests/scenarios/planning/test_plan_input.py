"""Options of a plan become a request, and invalid options are rejected by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assignors.replicas.planning import PlanError
from assignors.replicas.state import BrokerState
from scenarios.language.errors import ScenarioError
from scenarios.planning.plan_input import PlanOptions, read_topics
from tests.scenarios.planning.clusters import build_cluster, build_input


def test_without_options_all_partitions_may_change_on_all_brokers() -> None:
    plan_input = build_input()
    assert plan_input.topics is None
    assert plan_input.rows.tolist() == [0, 1, 2, 3, 4]
    assert (plan_input.request.brokers, plan_input.request.replication_factor) == (None, None)
    assert plan_input.request.rack_aware
    assert plan_input.warnings == ()


def test_removed_brokers_are_not_allowed() -> None:
    assert build_input(PlanOptions(remove=[2])).request.brokers == (1, 3)


def test_added_brokers_extend_the_cluster() -> None:
    plan_input = build_input(PlanOptions(add=["7:az1:4 TB", "8:az2"], remove=[3]))
    assert plan_input.state.brokers[-2:] == (BrokerState(7, "az1", 4 * 10**12), BrokerState(8, "az2"))
    assert plan_input.request.brokers == (1, 2, 7, 8)


def test_added_broker_in_a_new_rack_causes_a_warning() -> None:
    assert build_input(PlanOptions(add=["7:az9"])).warnings == (
        "--add-broker: 'az9' is a new rack (racks: az1, az2, az3)",
    )


def test_more_replicas_than_racks_cause_a_warning() -> None:
    options = PlanOptions(add=["7:az1", "8:az1"], replication_factor=4)
    assert build_input(options).warnings == ("4 replicas over 3 racks: up to 2 replicas of a partition per rack",)
    assert build_input(PlanOptions(add=["7:az1"], replication_factor=4, rack_aware=False)).warnings == ()


def test_replicas_of_other_topics_on_removed_brokers_cause_a_warning() -> None:
    assert build_input(PlanOptions(remove=[2], topics=["payments"])).warnings == (
        "3 replicas remain on broker 2: --topics excludes their topics (topics: orders)",
    )
    assert build_input(PlanOptions(remove=[3], topics=["orders"])).warnings == (
        "1 replica remains on broker 3: --topics excludes their topics (topics: payments)",
    )
    assert build_input(PlanOptions(remove=[3], topics=["payments"])).warnings == ()


def test_topics_are_split_at_commas_and_deduplicated() -> None:
    plan_input = build_input(PlanOptions(topics=["payments, orders", "payments"]))
    assert plan_input.topics == ("payments", "orders")
    assert build_input(PlanOptions(topics=["payments"])).rows.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (PlanOptions(remove=[9]), "--remove-broker 9: unknown broker (brokers: 1, 2, 3)"),
        (PlanOptions(remove=[1, 2, 3]), "--remove-broker: no broker remains; keep one"),
        (PlanOptions(add=["3:az3"]), "--add-broker 3:az3: broker 3 exists already (brokers: 1, 2, 3)"),
        (PlanOptions(add=["7:az1", "7:az2"]), "--add-broker: a broker occurs twice (brokers to add: 7:az1, 7:az2)"),
        (
            PlanOptions(add=["az1:"]),
            "--add-broker az1:: 'az1' is not a broker id (ID:RACK or ID:RACK:CAPACITY, for example 7:az1)",
        ),
        (PlanOptions(topics=[" , "]), "--topics: empty list of topics"),
        (PlanOptions(topics=["order"]), "unknown topic 'order'"),
        (
            PlanOptions(replication_factor=4),
            "--replication-factor 4: orders-0: replication factor 4 exceeds 3 allowed brokers",
        ),
        (PlanOptions(remove=[2, 3]), "orders-0: replication factor 2 exceeds 1 allowed brokers"),
    ],
)
def test_invalid_options_are_rejected(options: PlanOptions, message: str) -> None:
    with pytest.raises(PlanError, match=re.escape(message)):
        build_input(options)


def test_topics_to_move_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"topics": [{"topic": "payments"}, {"topic": "orders"}], "version": 1}')
    assert read_topics(file, build_cluster()) == ("payments", "orders")


def test_unknown_topics_to_move_are_rejected_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"topics": [\n{"topic": "order"},\n{"topic": "x"}]}')
    with pytest.raises(ScenarioError) as raised:
        read_topics(file, build_cluster())
    assert str(raised.value).splitlines() == [
        f"{file}:2: unknown topic 'order' (did you mean 'orders'?)",
        f"{file}:3: unknown topic 'x' (topics: orders, payments)",
    ]


def test_number_of_input_orders_keeps_within_two_hundred_thousand_partitions() -> None:
    options = PlanOptions()
    assert [options.orders_of(count) for count in (0, 10_000, 20_000, 100_000, 350_000)] == [20, 20, 10, 2, 2]
    assert PlanOptions(num_orders=0).orders_of(7) == 0
    assert PlanOptions(num_orders=50).orders_of(350_000) == 50
