"""Input of `kafka-leader-election.sh --election-type preferred --path-to-json-file`: JSON, one line per partition.

Source: `org.apache.kafka.tools.LeaderElectionCommand` (`parseReplicaElectionData`), which skips a partition whose
preferred leader already leads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from assignors.model.ids import TopicPartition


def election_json(partitions: Iterable[TopicPartition]) -> str:
    """Return the JSON that elects the preferred leaders of partitions.

    Raises ValueError if there are no partitions; the tool rejects an empty file.
    """
    lines = [json.dumps({"topic": partition.topic, "partition": partition.partition}) for partition in partitions]
    if not lines:
        raise ValueError("no partitions to elect leaders for")
    return '{"partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
