"""The steps of an autoscaler: what it saw and what it decided."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.world.lag_scaling import TOLERANCE


@dataclass(frozen=True, slots=True)
class ScalingStep:
    """A decision of an autoscaler; equal decisions with about the same lag are one step.

    Attributes:
        at_ms: when.
        workload: the name of the StatefulSet or Deployment.
        scaler: who decided: `HPA` or `KEDA`.
        lag: the lag of the group in records; with several triggers, of the one that asks for the most pods.
        target_lag: the lag at which the pods that exist are enough, of the same trigger.
        recommended: the pods that the lag asks for.
        replicas_before: the replicas that were set.
        replicas: the replicas that are set from now on.
        ready: how many pods were ready.
        reason: why.
    """

    at_ms: int
    workload: str
    scaler: str
    lag: int
    target_lag: int
    recommended: int
    replicas_before: int
    replicas: int
    ready: int
    reason: str

    def repeats(self, before: ScalingStep) -> bool:
        """Return whether this is the same decision as the one before, with the same pods and about the same lag."""
        change = abs(self.lag - before.lag)
        return (
            self.replicas == self.replicas_before
            and (self.scaler, self.recommended, self.replicas, self.ready, self.reason)
            == (before.scaler, before.recommended, before.replicas, before.ready, before.reason)
            and change <= TOLERANCE * max(before.lag, self.target_lag)
        )
