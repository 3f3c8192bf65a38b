"""Inference of the subtopologies that own the changelogs of a classic group."""

from __future__ import annotations

import pytest

from assignors.model.ids import TaskId
from scenarios.kafka.live.running_group import find_changelogs, infer_stores, subtopologies_of_tasks
from scenarios.kafka.observation.observation import ObservationError, ObservedSubtopology

ORDERS, VIEWS = ObservedSubtopology(0, ("orders",)), ObservedSubtopology(1, ("views",))
FOUR_EACH = {"orders": 4, "views": 4}


def test_sources_of_a_subtopology_are_those_of_its_tasks() -> None:
    reads = {TaskId(1, 0): ("b", "a"), TaskId(1, 1): ("c",), TaskId(0, 0): ("x",)}
    assert subtopologies_of_tasks(reads) == (ObservedSubtopology(0, ("x",)), ObservedSubtopology(1, ("a", "b", "c")))


def test_changelogs_of_an_application_with_a_longer_id_are_excluded() -> None:
    partitions = {"shop-a-changelog": 1, "shop-eu-b-changelog": 1, "shop-c-repartition": 1, "d-changelog": 1}
    assert find_changelogs("shop", partitions, ["shop", "shop-eu"]) == ("shop-a-changelog",)
    assert find_changelogs("shop", partitions, ["shop"]) == ("shop-a-changelog", "shop-eu-b-changelog")


def test_changelog_belongs_to_the_only_subtopology_with_as_many_tasks() -> None:
    partitions = {"orders": 4, "views": 3, "shop-sums-changelog": 3}
    subtopologies, assumptions = infer_stores([ORDERS, VIEWS], ["shop-sums-changelog"], "shop", partitions, frozenset())
    assert [dict(subtopology.changelogs) for subtopology in subtopologies] == [{}, {"sums": "shop-sums-changelog"}]
    assert "sums to 1" in assumptions[0]


def test_changelog_with_two_candidates_belongs_to_the_stateful_one() -> None:
    partitions = {**FOUR_EACH, "shop-sums-changelog": 4}
    subtopologies, _ = infer_stores([ORDERS, VIEWS], ["shop-sums-changelog"], "shop", partitions, frozenset({1}))
    assert [dict(subtopology.changelogs) for subtopology in subtopologies] == [{}, {"sums": "shop-sums-changelog"}]


def test_ambiguous_changelog_requires_the_topology() -> None:
    partitions = {**FOUR_EACH, "shop-sums-changelog": 4}
    with pytest.raises(ObservationError, match=r"shop-sums-changelog \(subtopology 0 or 1\).* --topology FILE"):
        infer_stores([ORDERS, VIEWS], ["shop-sums-changelog"], "shop", partitions, frozenset({0, 1}))


def test_changelog_belongs_to_the_reader_of_its_repartition_topic() -> None:
    reader = ObservedSubtopology(2, ("shop-agg-repartition",))
    partitions = {**FOUR_EACH, "shop-agg-repartition": 4, "shop-agg-changelog": 4}
    subtopologies, assumptions = infer_stores(
        [ORDERS, VIEWS, reader], ["shop-agg-changelog"], "shop", partitions, frozenset()
    )
    assert dict(subtopologies[2].changelogs) == {"agg": "shop-agg-changelog"}
    assert assumptions == ()


def test_changelog_without_owner_is_omitted_with_an_assumption() -> None:
    partitions = {**FOUR_EACH, "shop-old-changelog": 9}
    subtopologies, assumptions = infer_stores([ORDERS, VIEWS], ["shop-old-changelog"], "shop", partitions, frozenset())
    assert [dict(subtopology.changelogs) for subtopology in subtopologies] == [{}, {}]
    assert assumptions == ("Changelogs that match no running subtopology are omitted: shop-old-changelog.",)


def test_state_without_changelog_uses_the_only_source_topic() -> None:
    subtopologies, assumptions = infer_stores([ORDERS, VIEWS], [], "shop", FOUR_EACH, frozenset({1}))
    assert dict(subtopologies[1].changelogs) == {"views": "views"}
    assert "topology.optimization" in assumptions[0]


def test_state_without_changelog_requires_the_topology_with_several_sources() -> None:
    two_sources = ObservedSubtopology(0, ("orders", "views"))
    with pytest.raises(
        ObservationError, match=r"subtopology 0 has state, but no changelog matches it.*--topology FILE"
    ):
        infer_stores([two_sources], [], "shop", FOUR_EACH, frozenset({0}))
