"""How a client is stopped: the request, `KafkaStreams.close`, and what happens if closing takes too long.

While a `preStop` hook runs, the client continues to process. Then the process gets SIGTERM, and its shutdown hook calls
`KafkaStreams.close`: the client is PENDING_SHUTDOWN, its stream threads leave their loop, commit, and close their tasks
with the stores. No task of the client runs from then on, and its stores cannot be queried. The consumers close last, so
the members send heartbeats until the end, and the LeaveGroup request, if any, is the last one that they send.

A process that is still closing at the end of the grace period gets SIGKILL: it does not leave the group, and state
that was not flushed is lost. After a `preStop` hook that used up the grace period, the kubelet waits for another 2 s.

Source: `KafkaStreams.shutdownHelper`, `StreamThread.runLoop` and `completeShutdown`, Kafka 4.3.1; `killContainer` in
`pkg/kubelet/kuberuntime/kuberuntime_container.go` (`minimumGracePeriodInSeconds`), Kubernetes 1.34.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MINIMUM_GRACE_MS: Final = 2_000
"""The time that the kubelet grants after a `preStop` hook in any case."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a client is stopped.

    Attributes:
        leaves_group: whether it leaves the group, as with `CloseOptions` of `KafkaStreams.close`; None for the default
            of the configs and the protocol, see `simulator.world.leave_on_close`.
        close_ms: how long `KafkaStreams.close` takes.
        pre_stop_ms: how long the client continues to process after the request to stop (`preStop`).
        grace_ms: the time from the request to SIGKILL (`terminationGracePeriodSeconds`); None if it is never killed.
    """

    leaves_group: bool | None = None
    close_ms: int = 0
    pre_stop_ms: int = 0
    grace_ms: int | None = None

    @property
    def begins_after_ms(self) -> int:
        """The time from the request to stop until the client begins to close; the grace period cuts the hook off."""
        return self.pre_stop_ms if self.grace_ms is None else min(self.pre_stop_ms, self.grace_ms)

    @property
    def ends_after_ms(self) -> int:
        """The time from the request to stop until the process has ended."""
        closed_ms = self.begins_after_ms + self.close_ms
        return closed_ms if self._killed_after_ms is None else min(closed_ms, self._killed_after_ms)

    @property
    def is_killed(self) -> bool:
        """Whether the process is killed before it has closed."""
        return self._killed_after_ms is not None and self.begins_after_ms + self.close_ms > self._killed_after_ms

    @property
    def _killed_after_ms(self) -> int | None:
        if self.grace_ms is None or not self.pre_stop_ms:
            return self.grace_ms
        return max(self.grace_ms, self.begins_after_ms + MINIMUM_GRACE_MS)


AT_ONCE: Final = Closing()
"""A client that closes in no time, and leaves the group if its configs say so."""
