"""The layout of a run: rates, records, state and changelogs of tasks."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.world.layout import Layout, lay_out
from simulator.world.world import Store, Subtopology
from tests.simulator.world_builders import topic, topic_with_rates, world_with


def written_bytes(layout: Layout, topic: str) -> dict[str, float]:
    number = layout.outputs.topics.index(topic)
    entries = np.flatnonzero(layout.outputs.topic == number)
    return {str(layout.tasks.ids[layout.outputs.task[e]]): float(layout.outputs.bytes_per_s[e]) for e in entries}


def test_input_rates_in_bytes_and_records() -> None:
    sources = (
        topic_with_rates("clicks", (6_000, 3_000), record_bytes=100),
        topic_with_rates("views", (1_000,), record_bytes=500),
    )
    layout = lay_out(world_with(Subtopology(0, ("clicks", "views")), topics=sources))
    assert layout.input_bytes_per_s.tolist() == [7_000, 3_000]
    assert layout.input_records_per_s.tolist() == [62, 30]


@pytest.mark.parametrize(
    ("rates", "sizes"),
    [((0, 0), (0, 0)), ((5_000, 5_000), (0, 0)), ((0, 0), (40, 48)), ((7, 9), (49 * 10**6, 49 * 10**6 + 1))],
    ids=["empty", "growing from nothing", "less than a record", "full"],
)
def test_record_size_of_a_changelog_does_not_depend_on_its_size(rates: tuple[int, int], sizes: tuple[int, int]) -> None:
    topics = (topic_with_rates("clicks", (1, 1)), topic_with_rates("log", rates, sizes, record_bytes=49))
    layout = lay_out(world_with(Subtopology(0, ("clicks",), (Store("log", "log"),)), topics=topics))
    assert layout.record_bytes.tolist() == [49, 49]


def test_mean_record_size_of_several_changelogs_is_weighted_by_bytes() -> None:
    topics = (
        topic_with_rates("clicks", (1,)),
        topic_with_rates("a", (0,), (1_000,), 100),
        topic_with_rates("b", (0,), (1_000,), 1_000),
    )
    stores = (Store("a", "a"), Store("b", "b"))
    layout = lay_out(world_with(Subtopology(0, ("clicks",), stores), topics=topics))
    assert layout.record_bytes.tolist() == [pytest.approx(2_000 / 11)]


def test_output_rates_are_proportional_to_the_input_of_writers() -> None:
    layout = lay_out(
        world_with(
            Subtopology(0, ("clicks",), written_topics=("out",)),
            Subtopology(1, ("views",), written_topics=("out", "silent")),
            topics=(
                topic_with_rates("clicks", (1_000, 3_000)),
                topic_with_rates("views", (4_000,)),
                topic_with_rates("out", (100, 700)),
                topic_with_rates("silent", (0,)),
            ),
        )
    )
    assert written_bytes(layout, "out") == {"0_0": 100, "0_1": 300, "1_0": 400}
    assert written_bytes(layout, "silent") == {"1_0": 0}
    assert layout.outputs.partition_share.tolist() == [0.125, 0.875, 1]


def test_writers_without_input_have_equal_shares() -> None:
    topics = (topic_with_rates("clicks", (0, 0)), topic_with_rates("out", (600,)))
    layout = lay_out(world_with(Subtopology(0, ("clicks",), written_topics=("out",)), topics=topics))
    assert written_bytes(layout, "out") == {"0_0": 300, "0_1": 300}


def test_topic_that_is_written_and_read_is_a_repartition_topic() -> None:
    layout = lay_out(
        world_with(
            Subtopology(0, ("clicks",), written_topics=("between", "out")),
            Subtopology(1, ("between", "back"), written_topics=("back",)),
            topics=(*(topic(name, 2, 2) for name in ("clicks", "between", "back")), topic("out", 3, 2)),
        )
    )
    assert dict(zip(layout.outputs.topics, layout.outputs.is_repartition.tolist(), strict=True)) == {
        "back": True,
        "between": True,
        "out": False,
    }
    names = [str(layout.partitions[row]) for row in np.flatnonzero(layout.is_repartition)]
    assert sorted(names) == ["back-0", "back-1", "between-0", "between-1"]
    assert {name.topic for name in layout.partitions[layout.num_read :]} == {"out"}


def test_source_changelog_is_restored_but_not_written() -> None:
    stores = (Store("table", "clicks"), Store("counts", "log"))
    topics = (topic_with_rates("clicks", (500,), (3_000,)), topic_with_rates("log", (200,), (1_000,)))
    layout = lay_out(world_with(Subtopology(0, ("clicks",), stores), topics=topics))
    assert layout.changelogs.written_bytes_per_s.tolist() == [0, 200]
    assert layout.changelogs.restored_share.tolist() == [0.75, 0.25]
    assert layout.changelogs.followed_share.tolist() == pytest.approx([5 / 7, 2 / 7])
    assert layout.state_bytes.tolist() == [4_000]


def test_memory_share_is_that_of_in_memory_stores() -> None:
    stores = (Store("a", "log-a", persistent=False), Store("b", "log-b"), Store("c", None, persistent=False))
    topics = (
        topic("clicks", 3, 1),
        topic_with_rates("log-a", (1, 1, 0), (30, 0, 0)),
        topic_with_rates("log-b", (3, 3, 0), (10, 0, 0)),
    )
    layout = lay_out(
        world_with(
            Subtopology(0, ("clicks",), stores), Subtopology(1, ("views",)), topics=(*topics, topic("views", 1, 1))
        )
    )
    by_size, by_rate, evenly, stateless = layout.memory_share.tolist()
    assert (by_size, by_rate, evenly, stateless) == (0.75, 0.25, 0.5, 0)
