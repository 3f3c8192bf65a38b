"""The keys that say how a client is stopped."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scenarios.language.fields import Duration
from scenarios.language.section import ScenarioSection
from simulator.world.pod_events import MINIMUM_GRACE_MS, Closing

LeavesGroup = Annotated[
    bool | None,
    Field(
        description="Whether clients leave the group when they close: CloseOptions LEAVE_GROUP or REMAIN_IN_GROUP "
        "(Kafka 4.2 and newer). By default they remain, unless internal.leave.group.on.close is set (4.1 and older). "
        "Dynamic members of a streams group leave; from Kafka 4.4 on, they remain with false."
    ),
]


class ClosingEvent(ScenarioSection):
    """An event in which clients close."""

    leaves_group: LeavesGroup = None
    close: Duration = Field(
        default=0,
        description="Duration of KafkaStreams.close: the final commit, flushing and closing the stores. No task of the "
        "client runs during that time.",
    )
    grace: Duration | None = Field(
        default=None,
        description="Time from the request to stop until SIGKILL; a client that is still closing then loses unflushed "
        "state and does not leave the group. By default clients are never killed.",
    )

    def closing(self) -> Closing:
        """Return how clients are stopped."""
        return Closing(self.leaves_group, self.close, grace_ms=self.grace)


class PodClosingEvent(ScenarioSection):
    """An event in which Kubernetes stops pods."""

    leaves_group: LeavesGroup = None
    pre_stop: Duration = Field(
        default=0, description="Duration of the preStop hook, during which the client continues to process."
    )
    close: Duration = Field(
        default=0,
        description="Duration of KafkaStreams.close: the final commit, flushing and closing the stores. No task of the "
        "client runs during that time.",
    )
    grace: Annotated[Duration, Field(ge=MINIMUM_GRACE_MS)] = Field(
        default=30_000,
        description="terminationGracePeriodSeconds: time for pre_stop and close together; a pod that takes longer is "
        "killed. At least 2s, which the kubelet grants in any case.",
    )

    def closing(self) -> Closing:
        """Return how pods are stopped."""
        return Closing(self.leaves_group, self.close, self.pre_stop, self.grace)
