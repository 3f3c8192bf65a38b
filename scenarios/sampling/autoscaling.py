"""Autoscaling: clients that join and leave with the traffic."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from scenarios.sampling.traffic_profile import TrafficProfile
from simulator.world.disturbances import Join, Leave
from simulator.world.pod_events import AT_ONCE, Closing


@dataclass(frozen=True, slots=True)
class AutoscalePlan:
    """An autoscaled pool of clients.

    Attributes:
        at_ms: when autoscaling starts.
        clients: the pool; the first clients join first and leave last.
        bytes_per_s: capacity of one client.
        every_ms: interval between two evaluations.
        min_clients: minimum number of clients.
        max_clients: maximum number of clients.
        closing: how clients are stopped.
    """

    at_ms: int
    clients: tuple[str, ...]
    bytes_per_s: int
    every_ms: int
    min_clients: int
    max_clients: int
    closing: Closing = AT_ONCE

    def events(
        self, present: Collection[str], source_bytes_per_s: Sequence[int], profile: TrafficProfile, duration_ms: int
    ) -> Iterator[Join | Leave]:
        """Yield the joins and leaves that match the capacity to the traffic; crashes have no influence.

        `present`: the clients of the pool that are up at the start; `source_bytes_per_s`: traffic of all source topics
        at factor 1: one value, or 24 hourly values if the profile distinguishes hours; `profile`: the traffic over
        time; `duration_ms`: the end of the run. Yields joins and leaves in order of time.
        """
        present = set(present)
        for at_ms in range(self.at_ms, duration_ms, self.every_ms):
            base_bytes_per_s = source_bytes_per_s[profile.hour_at(at_ms) or 0]
            required = math.ceil(base_bytes_per_s * profile.factor_at(at_ms) / self.bytes_per_s)
            surplus = len(present) - min(max(required, self.min_clients), self.max_clients)
            if surplus < 0:
                joining = [client for client in self.clients if client not in present][:-surplus]
                present.update(joining)
                yield Join(at_ms, tuple(joining))
            elif surplus > 0:
                leaving = [client for client in reversed(self.clients) if client in present][:surplus]
                present.difference_update(leaving)
                yield Leave(at_ms, tuple(leaving), closing=self.closing)
