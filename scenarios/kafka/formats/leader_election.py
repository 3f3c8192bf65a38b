"""What `kafka-leader-election.sh --election-type preferred --path-to-json-file` takes: JSON, a line a partition.

Source: `org.apache.kafka.tools.LeaderElectionCommand` (`parseReplicaElectionData`); a partition that its preferred
leader leads already is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from assignors.model.ids import TopicPartition


def election_json(partitions: Iterable[TopicPartition]) -> str:
    """Write which partitions shall be led by their preferred leaders.

    Raises:
        ValueError: there are no partitions.
    """
    lines = [json.dumps({"topic": key.topic, "partition": key.partition}) for key in partitions]
    if not lines:
        raise ValueError("an election of no partitions")
    return '{"partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
