"""Subscriptions of members of a consumer group, inferred from their partitions."""

from __future__ import annotations

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.observe import infer_subscriptions
from scenarios.kafka.observation.observation import ObservedConsumer


def _inferred(assignor: str, **counts: tuple[int, int]) -> dict[str, str]:
    """Return the topics of members with a number of partitions of the topics `a` and `b`."""
    used = {"a": 0, "b": 0}
    members = []
    for name, of_topics in counts.items():
        partitions = []
        for topic, count in zip("ab", of_topics, strict=True):
            partitions += [TopicPartition(topic, used[topic] + i) for i in range(count)]
            used[topic] += count
        members.append(ObservedConsumer(name, name, "", None, None, (), tuple(partitions)))
    return {name: "".join(sorted(topics)) for name, topics in infer_subscriptions(members, assignor).items()}


@pytest.mark.parametrize(
    ("assignor", "counts", "topics"),
    [
        ("range", {"x": (2, 1), "y": (2, 1), "z": (0, 1)}, {"x": "ab", "y": "ab", "z": "b"}),
        ("range", {"x": (1, 1), "y": (1, 0), "z": (0, 0)}, {"x": "ab", "y": "ab", "z": "ab"}),
        ("range", {"x": (2, 2), "y": (0, 0)}, {"x": "ab", "y": "ab"}),
        ("sticky", {"x": (6, 0), "y": (0, 2)}, {"x": "a", "y": "b"}),
        ("sticky", {"x": (3, 0), "y": (0, 2)}, {"x": "ab", "y": "ab"}),
        ("uniform", {"x": (3, 1), "y": (0, 2), "z": (0, 0)}, {"x": "ab", "y": "b", "z": "ab"}),
        ("com.acme.Assignor", {"x": (6, 0), "y": (0, 2)}, {"x": "ab", "y": "ab"}),
    ],
)
def test_members_read_all_topics_unless_their_partitions_rule_it_out(
    assignor: str, counts: dict[str, tuple[int, int]], topics: dict[str, str]
) -> None:
    assert _inferred(assignor, **counts) == topics


def test_members_without_any_partitions_subscribe_to_nothing_known() -> None:
    assert _inferred("range", x=(0, 0)) == {"x": ""}
    assert _inferred("uniform") == {}
