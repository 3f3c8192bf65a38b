"""What Kafka Streams does when it cannot learn how far behind the clients are: everything stays, and it asks again."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.recording.recorder import NO_RECORDER, Recorder
from assignors.tasks.legacy_sticky import stick


@dataclass(frozen=True, slots=True)
class FallbackPrior:
    """`FallbackPriorTaskAssignor`: the previous assignment, with new or lost tasks placed as the sticky assignor would.

    Attributes:
        order: in which collections the caller is taken to hand over tasks and clients; ties hang on it.

    Guarantees: every task that ran somewhere stays there. A probing rebalance is always asked for. Racks and lags play
    no part.

    Priority: staying put, then as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor`, KIP-441.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks exactly as Kafka would.

        Raises:
            KafkaError: Kafka would throw here; see `assignors.errors`.
        """
        return self.assign_recorded(state, NO_RECORDER)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """As `assign`, and tell the recorder how."""
        placement = stick(state, self.order, preserve_actives=True, rack_aware=False, recorder=recorder)
        followup_ms = state.assignment_configs.probing_rebalance_interval_ms
        return placement.columns(followup_ms).to_assignment(state)
