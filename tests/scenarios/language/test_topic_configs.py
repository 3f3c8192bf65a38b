"""The configs `min.insync.replicas` and `unclean.leader.election.enable` of topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.load import loads
from simulator.world.world import World
from tests.scenarios.scenario_texts import SMALL, mistakes_in

DESCRIBED = """\
Topic: orders\tPartitionCount: 2\tConfigs: min.insync.replicas=2,unclean.leader.election.enable=true
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1
Topic: payments\tTopicId: def\tPartitionCount: 2\tReplicationFactor: 2\tConfigs:
\tTopic: payments\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: payments\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1
"""
IMPORTING = """\
cluster:
  from: {topics: topics.txt}
application:
  id: shop
  subtopologies: [{sources: [orders, payments], stores: [{name: totals}]}]
clients: [{name: app}]
assignors: [high_availability]
"""


def load_world(text: str = SMALL, *overrides: tuple[str, str]) -> World:
    return loads(text, overrides=overrides).world(1)


def configs(world: World) -> dict[str, tuple[int, bool]]:
    topics = world.cluster.topics.values()
    return {topic.name: (topic.min_insync_replicas, topic.unclean_leader_election) for topic in topics}


def test_default_min_insync_replicas_is_1_without_unclean_election() -> None:
    assert set(configs(load_world()).values()) == {(1, False)}
    assert load_world().application.acks_all


def test_topics_inherit_broker_and_application_configs() -> None:
    world = load_world(
        SMALL,
        ("cluster.configs.min.insync.replicas", "2"),
        ("cluster.topics[1].configs.min.insync.replicas", "1"),
        ("cluster.topics[1].configs.unclean.leader.election.enable", "true"),
        ("application.configs.topic.unclean.leader.election.enable", "true"),
    )
    assert configs(world) == {
        "orders": (2, False),
        "payments": (1, True),
        "shop-by-customer-repartition": (2, True),
        "shop-totals-changelog": (2, True),
    }


@pytest.mark.parametrize(("acks", "is_all"), [("all", True), ("-1", True), ("1", False), ("0", False)])
def test_acks_may_be_text_or_a_number(acks: str, is_all: bool) -> None:
    assert load_world(SMALL, ("application.configs.producer.acks", acks)).application.acks_all == is_all


def test_invalid_acks_are_rejected() -> None:
    invalid = SMALL.replace("num.standby.replicas: 1", "producer.acks: 2")
    [message] = mistakes_in(invalid)
    assert "'2' is not a value of acks (one of: all, -1, 0, 1)" in message


def test_described_topic_has_its_configs_and_its_in_sync_replicas(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    scenario = loads(IMPORTING, folder=tmp_path)
    world = scenario.world(1)
    assert configs(world) == {"orders": (2, True), "payments": (1, False), "shop-totals-changelog": (1, False)}
    assert world.cluster.topics["orders"].in_sync == ((1,), (2, 1))
    [warning] = scenario.warnings
    assert warning.startswith("scenario:1: cluster: replicas that are out of sync until their broker restarts")
    assert warning.endswith(": orders-0 (broker 2)")


def test_topic_entry_overrides_described_configs(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    entry = "topics.txt}\n  topics: [{name: orders, configs: {min.insync.replicas: 1}}]"
    world = loads(IMPORTING.replace("topics.txt}", entry), folder=tmp_path).world(1)
    assert configs(world)["orders"] == (1, True)


def test_topic_with_fewer_replicas_than_min_insync_causes_a_warning() -> None:
    [warning] = loads(SMALL, overrides=[("cluster.topics[0].configs.min.insync.replicas", "3")]).warnings
    assert warning.endswith("fewer replicas than min.insync.replicas, which reject writes with acks=all: orders")
