"""Names of topics, stream threads and processes follow Kafka's rules."""

from __future__ import annotations

import pytest

from scenarios.kafka.naming import (
    application_of_thread,
    changelog_topic,
    full_topic_name,
    is_changelog_topic,
    is_internal_topic,
    is_purged_topic,
    is_repartition_topic,
    process_client_id,
    repartition_name,
    repartition_of_changelog,
    repartition_topic,
    store_of_changelog,
    trailing_uuid,
)

PROCESS_ID = "8f3b2c1d-0a4e-4b6f-9c7d-1e2f3a4b5c6d"


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("by-customer-repartition", True),
        ("shop-by-customer-repartition", True),
        ("-repartition", False),
        ("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", True),
        ("shop-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic", True),
        ("orders-subscription-registration-topic", True),
        ("orders-subscription-response-topic", True),
        ("orders-subscription-topic", False),
        ("shop-totals-changelog", False),
        ("orders", False),
    ],
)
def test_repartition_topics_include_those_of_foreign_key_joins(topic: str, expected: bool) -> None:
    assert is_repartition_topic(topic) is expected


def test_only_repartition_topics_of_the_application_are_purged() -> None:
    assert is_purged_topic("shop-by-customer-repartition", "shop")
    assert not is_purged_topic("kiosk-by-customer-repartition", "shop")
    assert not is_purged_topic("shop-totals-changelog", "shop")


def test_internal_topics_have_the_application_id_and_a_suffix() -> None:
    assert changelog_topic("shop", "totals") == "shop-totals-changelog"
    assert repartition_topic("shop", "by-customer") == "shop-by-customer-repartition"
    assert is_changelog_topic("shop", "shop-totals-changelog")
    assert not is_changelog_topic("shop", "kiosk-totals-changelog")
    assert is_internal_topic("shop", "shop-by-customer-repartition")
    assert not is_internal_topic("shop", "shop-orders")


def test_store_and_repartition_names_are_extracted() -> None:
    assert store_of_changelog("shop", "shop-totals-changelog") == "totals"
    assert store_of_changelog("shop", "customers") == "customers"
    assert repartition_of_changelog("shop-totals-changelog") == "shop-totals-repartition"
    assert repartition_name("shop", "shop-by-customer-repartition") == "by-customer"
    assert repartition_name("shop", "shop--repartition") is None
    assert repartition_name("shop", "kiosk-by-customer-repartition") is None


@pytest.mark.parametrize(
    ("topic", "topics", "expected"),
    [
        ("orders", {"orders"}, "orders"),
        ("orders", {"orders", "shop-orders"}, "orders"),
        ("orders", {"shop-orders"}, "shop-orders"),
        (
            "by-customer-repartition",
            {"shop-by-customer-repartition", "by-customer-repartition"},
            "shop-by-customer-repartition",
        ),
        ("by-customer-repartition", {"by-customer-repartition"}, "by-customer-repartition"),
        ("missing", set(), "missing"),
    ],
)
def test_described_topic_gets_the_application_id_if_the_cluster_has_it(
    topic: str, topics: set[str], expected: str
) -> None:
    assert full_topic_name(topic, "shop", topics) == expected


@pytest.mark.parametrize(
    ("thread", "expected"),
    [
        (f"shop-{PROCESS_ID}-StreamThread-1", f"shop-{PROCESS_ID}"),
        (f"shop-{PROCESS_ID}-StreamThread-12-consumer", f"shop-{PROCESS_ID}"),
        (f"host-1-StreamThread-1-consumer-{PROCESS_ID}", "host-1"),
        ("host-1", "host-1"),
    ],
)
def test_threads_of_a_process_share_a_client_id(thread: str, expected: str) -> None:
    assert process_client_id(thread) == expected


def test_default_client_id_has_application_and_process_id() -> None:
    assert trailing_uuid(f"shop-{PROCESS_ID}") == PROCESS_ID
    assert trailing_uuid(f"shop-{PROCESS_ID.upper()}") == PROCESS_ID.upper()
    assert trailing_uuid("host-1") is None
    assert application_of_thread(f"shop-eu-{PROCESS_ID}-StreamThread-1") == "shop-eu"
    assert application_of_thread("host-1-StreamThread-1") is None
