"""The invariants of a run, checked after every change."""

from __future__ import annotations

from assignors.model.ids import TopicPartition
from simulator.flows.execution import Execution
from simulator.world.world import World


class InvariantChecker:
    """Checks the state of the execution after every change of a run.

    Attributes:
        observations: how often it was called.
        last: the execution that it observes; None before the first observation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._before_ms = 0
        self._restored_bytes = 0.0
        self.observations = 0
        self.last: Execution | None = None

    def __call__(self, execution: Execution) -> None:
        self.observations += 1
        self.last = execution
        execution.validate_state()
        self._check_leaders(execution)
        assert execution.now_ms >= self._before_ms, "time never goes back"
        assert execution.restoration.reads.restored_bytes >= self._restored_bytes
        self._before_ms = execution.now_ms
        self._restored_bytes = execution.restoration.reads.restored_bytes

    def _check_leaders(self, execution: Execution) -> None:
        """Check that no task is processed, restored or followed by standbys without the leaders that it needs."""
        layout, locations = execution.layout, execution.locations
        topics, acks_all = self._world.cluster.topics, self._world.application.acks_all
        subtopologies = {subtopology.id: subtopology for subtopology in self._world.application.subtopologies}
        row_of = {name: row for row, name in enumerate(layout.partitions)}
        takes_writes = locations.takes_writes if acks_all else locations.has_leader
        for number, task in enumerate(layout.tasks.ids):
            subtopology = subtopologies[task.subtopology]
            partitions = [
                [TopicPartition(name, task.partition) for name in names if task.partition < topics[name].num_partitions]
                for names in (
                    subtopology.source_topics,
                    [store.changelog for store in subtopology.stores if store.changelog],
                )
            ]
            sources, changelogs = ([row_of[name] for name in names] for names in partitions)
            logged = [row for row in changelogs if row not in sources]
            outputs = [
                row_of[TopicPartition(t, p)]
                for t in subtopology.written_topics
                for p in range(topics[t].num_partitions)
            ]
            can_process = all(locations.has_leader[sources]) and all(takes_writes[[*logged, *outputs]])
            if not can_process:
                assert execution.processing.rate[number] == 0, "a task stops without its partitions"
            assert execution.processed[number] == (execution.running[number] and can_process)
            if not all(locations.has_leader[changelogs]):
                copies = execution.restoration.copies.task == number
                assert not execution.restoration.rate[copies].any(), "a changelog without a leader is not read"
