"""The topics that a plan may change, from a file of Kafka's own format."""

from __future__ import annotations

from pathlib import Path

from assignors.replicas.state import ClusterState
from scenarios.clusters.cluster_reader import read_tool_output
from scenarios.kafka.formats.topics_to_move import parse_topics_to_move
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_value


def read_topics(path: Path, state: ClusterState) -> tuple[str, ...]:
    """Read the topics to move, in the order of the file.

    Raises:
        ScenarioError: the file is no list of topics, or lists topics that the cluster does not have; names each.
    """
    listed = read_tool_output(path, parse_topics_to_move)
    mistakes = Mistakes(str(path))
    for topic in listed:
        if topic.name not in state.topics:
            what = (
                f"unknown topic {format_value(topic.name)} ({did_you_mean(topic.name, sorted(state.topics), 'topics')})"
            )
            mistakes.add(Mistake(str(path), topic.line, "", what))
    mistakes.raise_any()
    return tuple(topic.name for topic in listed)
