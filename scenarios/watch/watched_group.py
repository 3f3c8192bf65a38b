"""A watched group: what its next assignment and its downtimes depend on besides the members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios.load import AssignorSpec, Scenario
from simulator.world.group_configs import GroupConfigs


@dataclass(frozen=True, slots=True, eq=False)
class WatchedGroup:
    """A group as it was observed in a stable state: a Kafka Streams application, or other consumers.

    Attributes:
        task_names: the tasks in Kafka's text form; those of a consumer group are partitions.
        spec: the assignor of the scenario.
        group_configs: the configs of the group protocol.
        commit_interval_ms: the longest time between two commits of a task that makes progress.
        scenario: the scenario that starts in the observed state; its clients have the names of `client_names`.
        client_names: the name of each observed process in the scenario.
    """

    task_names: tuple[str, ...]
    assignor_name: str
    spec: AssignorSpec
    group_configs: GroupConfigs
    commit_interval_ms: int
    scenario: Scenario
    client_names: Mapping[str, str]
