"""Changes of the world that can lower the bill."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from assignors.model.configs import RackAwareStrategy
from scenarios.cost_levers import COST_LEVERS, NotApplicableError
from simulator.world.world import World
from tests.scenarios.scenario_texts import SMALL, load_text

OTHER = """\
other_traffic:
  compression_ratios: {gzip: 2, zstd: 4}
  producers:
    - {name: web, racks: [az1], share: 0.5, keyed: false, configs: {compression.type: gzip}}
    - {name: app, racks: [az1], share: 0.25}
  groups: [{name: search, topics: [orders], racks: [az1], client_rack: false}]
"""
LEVERS = {lever.key: lever for lever in COST_LEVERS}


def changed(key: str, text: str = SMALL + OTHER, *overrides: tuple[str, str]) -> tuple[World, World]:
    """Return the world before and after a change."""
    scenario = load_text(text, *overrides)
    spec = scenario.assignors[0]
    world = scenario.world(1, spec)
    return world, LEVERS[key].apply(world, spec)


def test_follower_fetching_lets_every_consumer_announce_its_rack() -> None:
    _, after = changed("follower_fetching")
    assert after.cluster.reads_from_nearest_replica
    assert after.other_traffic is not None
    assert all(client.announces_rack for client in after.clients)
    assert all(group.announces_rack for group in after.other_traffic.groups)


def test_rack_aware_assignment_sets_the_strategy() -> None:
    _, after = changed("rack_aware_assignment")
    strategy = after.application.assignment_configs.rack_aware_assignment_strategy
    assert strategy is RackAwareStrategy.MIN_TRAFFIC


def test_rack_aware_producing_changes_producers_without_keys_only() -> None:
    _, after = changed("rack_aware_producing")
    assert after.other_traffic is not None
    assert [producer.is_rack_aware for producer in after.other_traffic.producers] == [True, False]


def test_compression_shrinks_what_producers_send() -> None:
    before, after = changed("compression")
    # Half shrinks from gzip (2) to zstd (4), a quarter from none to zstd; the rest has no producer.
    factor = 0.5 / 2 + 0.25 / 4 + 0.25
    old, new = (world.cluster.topics["orders"] for world in (before, after))
    assert sum(new.bytes_per_s) == pytest.approx(sum(old.bytes_per_s) * factor)
    assert new.record_bytes == pytest.approx(old.record_bytes * factor, abs=1)
    assert after.other_traffic is not None
    shares = [producer.share_of["orders"] * factor for producer in after.other_traffic.producers]
    assert shares == pytest.approx([0.25, 0.0625])
    assert {producer.codec for producer in after.other_traffic.producers} == {"zstd"}


def test_compression_leaves_recompressed_topics_as_they_are() -> None:
    before, after = changed("compression", SMALL + OTHER, ("cluster.topics[0].configs", "{compression.type: gzip}"))
    assert after.cluster.topics["orders"] == before.cluster.topics["orders"]
    assert before.other_traffic is not None
    assert after.other_traffic is not None
    [first, *_] = after.other_traffic.producers
    assert before.other_traffic.sent_per_stored_byte(before.other_traffic.producers[0], "orders") == 1
    assert after.other_traffic.sent_per_stored_byte(first, "orders") == 0.5


PLAIN = "other_traffic: {groups: [{name: search, topics: [orders], racks: [az1]}]}\n"
STRATEGY = "application.configs.rack.aware.assignment.strategy"
NEAREST = ("cluster.configs.replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector")


@pytest.mark.parametrize(
    ("key", "text", "overrides", "reason"),
    [
        ("follower_fetching", PLAIN, [NEAREST], "in use"),
        (
            "rack_aware_assignment",
            PLAIN,
            [("application.configs.rack.aware.assignment.strategy", "min_traffic")],
            "in use",
        ),
        ("rack_aware_assignment", PLAIN, [("assignors", "[legacy_sticky]")], None),
        ("rack_aware_assignment", PLAIN, [("application.configs.group.protocol", "streams")], "streams groups"),
        ("rack_aware_producing", PLAIN, [], "no producers are stated"),
        ("rack_aware_producing", OTHER, [("other_traffic.producers[0].keyed", "true")], "all records have keys"),
        ("compression", PLAIN, [], "no producers are stated"),
        (
            "compression",
            "other_traffic: {producers: [{name: web, racks: [az1]}]}\n",
            [],
            "compression_ratios are not stated",
        ),
    ],
)
def test_changes_that_do_not_apply_have_a_reason(
    key: str, text: str, overrides: Sequence[tuple[str, str]], reason: str | None
) -> None:
    if reason is None:
        changed(key, SMALL + text, *overrides)
        return
    with pytest.raises(NotApplicableError, match=reason):
        changed(key, SMALL + text, *overrides)


def test_levers_change_nothing_else() -> None:
    before, after = changed("follower_fetching")
    restored = dataclasses.replace(
        after, cluster=before.cluster, clients=before.clients, other_traffic=before.other_traffic
    )
    assert restored == before
