"""Clients that come and go with the traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.sampling.traffic_profile import TrafficProfile
from simulator.world.disturbances import Join, Leave


@dataclass(frozen=True, slots=True)
class AutoscalePlan:
    """A pool of clients that grows and shrinks.

    Attributes:
        clients: the pool; the first ones come first and go last.
        bytes_per_s: what one client takes.
        every_ms: how often it is looked at.
        fewest: how many clients are there at least.
        most: how many clients are there at most.
        leaves_group: as in `simulator.world.disturbances.Leave`.
    """

    at_ms: int
    clients: tuple[str, ...]
    bytes_per_s: int
    every_ms: int
    fewest: int
    most: int
    leaves_group: bool | None = None

    def scale(
        self, there: Sequence[str], source_bytes_per_s: Sequence[int], profile: TrafficProfile, duration_ms: int
    ) -> Iterator[Join | Leave]:
        """Join and leave so that the traffic is covered, from the traffic alone: crashes make no difference.

        Args:
            there: those of the pool that are there before.
            source_bytes_per_s: what is produced to all source topics where the factor is 1: the usual, or what it is in
                each of the 24 hours of a day where the profile tells them apart.
        """
        present = set(there)
        for at_ms in range(self.at_ms, duration_ms, self.every_ms):
            usual = source_bytes_per_s[profile.hour_at(at_ms) or 0]
            needed = math.ceil(usual * profile.factor_at(at_ms) / self.bytes_per_s)
            surplus = len(present) - min(max(needed, self.fewest), self.most)
            if surplus < 0:
                joining = [client for client in self.clients if client not in present][:-surplus]
                present.update(joining)
                yield Join(at_ms, tuple(joining))
            elif surplus > 0:
                leaving = [client for client in reversed(self.clients) if client in present][:surplus]
                present.difference_update(leaving)
                yield Leave(at_ms, tuple(leaving), leaves_group=self.leaves_group)
