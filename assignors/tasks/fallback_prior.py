"""Kafka Streams' assignor for unknown lags: tasks stay, and a probing rebalance follows."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.recording.recorder import RecordedAssignor, Recorder
from assignors.tasks.legacy_sticky import place_sticky


@dataclass(frozen=True, slots=True)
class FallbackPrior(RecordedAssignor):
    """`FallbackPriorTaskAssignor`: the previous assignment; new and lost tasks are placed as by the sticky assignor.

    Attributes:
        order: order in which the caller's collections return tasks and clients; ties depend on it.

    Guarantees: each task stays on the client that ran it. A probing rebalance is always requested. Racks and lags do
    not matter.

    Priority: the previous client, then as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor`, KIP-441.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            KafkaError: Kafka throws for this state; see `assignors.errors`.
        """
        placement = place_sticky(state, self.order, preserve_actives=True, rack_aware=False, recorder=recorder)
        followup_ms = state.assignment_configs.probing_rebalance_interval_ms
        return placement.columns(followup_ms).to_assignment(state)
