"""The topics that a plan may change, from a file of Kafka's own format."""

from __future__ import annotations

from pathlib import Path

from assignors.replicas.state import ClusterState
from scenarios.cluster_state import read_file
from scenarios.errors import Mistake, Mistakes, did_you_mean, show
from scenarios.importers.topics_to_move import read_topics_to_move


def topics_to_move(path: Path, state: ClusterState) -> tuple[str, ...]:
    """Read the topics to move, in the order of the file.

    Raises:
        ScenarioError: the file is no list of topics, or lists topics that the cluster does not have; names each.
    """
    listed = read_file(path, read_topics_to_move)
    mistakes = Mistakes(str(path))
    for topic in listed:
        if topic.name not in state.topics:
            what = f"unknown topic {show(topic.name)} ({did_you_mean(topic.name, sorted(state.topics), 'topics')})"
            mistakes.add(Mistake(str(path), topic.line, "", what))
    mistakes.raise_any()
    return tuple(topic.name for topic in listed)
