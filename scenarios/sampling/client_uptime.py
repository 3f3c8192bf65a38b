"""The uptime of clients, from the events that are already determined."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass

from simulator.timeline import timeline
from simulator.world.changes import ClientDown, ClientUp
from simulator.world.disturbances import Join
from simulator.world.world import World


@dataclass(frozen=True, slots=True)
class _Absence:
    """An additional downtime of a client; `until_ms` is None if the client never returns."""

    from_ms: int
    until_ms: int | None

    def covers(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms and (self.until_ms is None or at_ms < self.until_ms)

    def overlaps(self, from_ms: int, until_ms: int | None) -> bool:
        begins_late = until_ms is not None and self.from_ms > until_ms
        ends_early = self.until_ms is not None and self.until_ms < from_ms
        return not begins_late and not ends_early


class ClientUptime:
    """When clients are up, with joins and absences that are added as they are drawn.

    `world`: the world with the disturbances that do not depend on chance.
    """

    def __init__(self, world: World) -> None:
        self._starts = {client.name: client.starts for client in world.clients}
        self._times: dict[str, list[int]] = {client.name: [] for client in world.clients}
        self._ups: dict[str, list[bool]] = {client.name: [] for client in world.clients}
        self._joins: dict[str, list[int]] = {client.name: [] for client in world.clients}
        self._absences: dict[str, list[_Absence]] = {client.name: [] for client in world.clients}
        for timed in timeline(world):
            if isinstance(timed.change, ClientUp | ClientDown):
                self._times[timed.change.client].append(timed.at_ms)
                self._ups[timed.change.client].append(isinstance(timed.change, ClientUp))
        for disturbance in world.disturbances:
            if isinstance(disturbance, Join):
                for i, client in enumerate(disturbance.clients):
                    insort(self._joins[client], disturbance.at_ms + i * disturbance.every_ms)

    def is_up(self, client: str, at_ms: int) -> bool:
        """Return whether a client is up after all events at that time."""
        return self._absence(client, at_ms) is None and self._is_up_by_events(client, at_ms)

    def is_up_or_returning(self, client: str, at_ms: int) -> bool:
        """Return whether a client is up, or is down and will return without a join event."""
        absence, joins = self._absence(client, at_ms), self._joins[client]
        if absence is not None and (absence.until_ms is None or absence.until_ms in joins):
            return False
        if self._is_up_by_events(client, at_ms):
            return True
        following = range(bisect_right(self._times[client], at_ms), len(self._times[client]))
        back_ms = next((self._times[client][i] for i in following if self._ups[client][i]), None)
        return back_ms is not None and back_ms not in joins

    def is_undisturbed(self, client: str, from_ms: int, until_ms: int | None) -> bool:
        """Return whether a client has no event from `from_ms` to `until_ms`, both inclusive; None for no end."""
        times = self._times[client]
        position = bisect_left(times, from_ms)
        if position < len(times) and (until_ms is None or times[position] <= until_ms):
            return False
        return not any(absence.overlaps(from_ms, until_ms) for absence in self._absences[client])

    def never_joins(self, client: str) -> bool:
        """Return whether a client is absent at the start and never joins."""
        return not self._starts[client] and not self._times[client]

    def add_join(self, client: str, at_ms: int) -> None:
        """Add the join of a client that has never been up."""
        self._times[client].append(at_ms)
        self._ups[client].append(True)
        self._joins[client].append(at_ms)

    def add_absence(self, client: str, from_ms: int, until_ms: int | None) -> None:
        """Add a downtime of a client that is up; it ends at `until_ms`, or at an earlier join."""
        joins = self._joins[client]
        position = bisect_right(joins, from_ms)
        if position < len(joins) and (until_ms is None or joins[position] < until_ms):
            until_ms = joins[position]
        self._absences[client].append(_Absence(from_ms, until_ms))

    def _absence(self, client: str, at_ms: int) -> _Absence | None:
        return next((absence for absence in self._absences[client] if absence.covers(at_ms)), None)

    def _is_up_by_events(self, client: str, at_ms: int) -> bool:
        position = bisect_right(self._times[client], at_ms)
        return self._ups[client][position - 1] if position else self._starts[client]
