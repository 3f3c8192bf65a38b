"""The recorded traffic of an application: bytes by kind and pair of racks, with the routes of each moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import IntArray
from simulator.brokers.partition_locations import PartitionLocations
from simulator.flows.hourly_traffic import HourlyRates, HourlyTraffic
from simulator.flows.processing import Processing
from simulator.flows.restoration import Restoration
from simulator.flows.traffic import Routes, TrafficBytes, TrafficKind, TrafficTotals, rack_matrix
from simulator.group.fleet import Fleet
from simulator.world.added_partitions import rate_shares
from simulator.world.changes import RackTransfer
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import World


class TrafficRecord:
    """Adds up what tasks and copies have read and written, before their owners or the routes of bytes change.

    Attributes:
        rates: the rates of the current hour of the day.
        usual: the rates at the usual traffic, with the partitions that exist.
        routes: the routes of bytes between racks with the current leaders and replicas, at the usual traffic.
    """

    def __init__(self, world: World, layout: Layout, locations: PartitionLocations) -> None:
        self._layout = layout
        self._locations = locations
        self._from_nearest = world.cluster.reads_from_nearest_replica
        self._hourly_traffic = HourlyTraffic(world, layout)
        self._hour: int | None = None
        self._shares = rate_shares(world, layout, 0)
        self.rates = self.usual = self._hourly_traffic.rates(None, self._shares)
        self.routes = self._hourly_routes = self._routes(self.usual)
        self._totals = TrafficTotals(len(layout.racks))
        self._reassignment_bytes_per_s = rack_matrix(layout.racks, ())
        self._reassignment_bytes = rack_matrix(layout.racks, ())
        self._is_reassigning = False
        self._has_flowed = False

    def note_flow(self, seconds: Sequence[float]) -> None:
        """Note that work may have been done in some steps in time, in which reassignments went on."""
        self._has_flowed = self._has_flowed or bool(seconds)
        if self._is_reassigning:
            for duration_s in seconds:
                self._reassignment_bytes += self._reassignment_bytes_per_s * duration_s

    def record(self, processing: Processing, restoration: Restoration, owner: IntArray, fleet: Fleet) -> None:
        """Record the traffic since the last call.

        `processing`: the work of the tasks. `restoration`: the reads of the copies. `owner`, shape (T,): the client of
        each task in that time, UNASSIGNED if none. `fleet`: the racks of the clients.
        """
        if not self._has_flowed:
            return
        self._has_flowed = False
        work, routes, racks, announces = processing.take_work(), self._hourly_routes, fleet.rack, fleet.announces
        (tasks,) = ((work > 0) & (owner != UNASSIGNED)).nonzero()
        if len(tasks):
            clients = owner[tasks]
            self._totals.add(routes.processing(work[tasks], tasks, racks[clients], announces[clients]))
        for kind, read, read_tasks, clients in restoration.reads.take():
            self._totals.add(routes.changelog_reads(kind, read, read_tasks, racks[clients], announces[clients]))

    def take(self) -> TrafficBytes:
        """Return the recorded bytes since the last call, by kind and pair of racks, and start counting anew."""
        self._totals.add({TrafficKind.REASSIGNMENT: self._reassignment_bytes})
        self._reassignment_bytes = np.zeros_like(self._reassignment_bytes)
        return self._totals.take()

    def update_locations(self, locations: PartitionLocations) -> None:
        """Use other leaders and replicas from now on."""
        self._locations = locations
        self.routes = self._routes(self.usual)
        self._update_hourly_routes()

    def set_hour(self, hour: int | None) -> None:
        """Use the rates of an hour of the day from now on; None for the usual ones."""
        self._hour, self.rates = hour, self._hourly_traffic.rates(hour, self._shares)
        self._update_hourly_routes()

    def set_shares(self, shares: FloatArray | None) -> None:
        """Distribute the rates of topics over partitions from now on as `rate_shares` says."""
        self._shares = shares
        self.usual = self._hourly_traffic.rates(None, shares)
        self.routes = self._routes(self.usual)
        self.set_hour(self._hour)

    def is_hour(self, hour: int | None) -> bool:
        """Return whether the rates are those of an hour, or the usual ones."""
        return hour == self._hour

    def set_reassignment(self, copied: Sequence[RackTransfer], copying: Sequence[RackTransfer]) -> None:
        """Set the traffic of reassignments.

        `copied`: bytes that unthrottled replicas copied instantly; `copying`: bytes per second that are copied from now
        on.
        """
        self._reassignment_bytes += rack_matrix(self._layout.racks, copied)
        self._reassignment_bytes_per_s = rack_matrix(self._layout.racks, copying)
        self._is_reassigning = bool(self._reassignment_bytes_per_s.any())

    def _update_hourly_routes(self) -> None:
        """Recompute the routes for the current hour."""
        is_usual = self.rates.layout is self.usual.layout
        self._hourly_routes = self.routes if is_usual else self._routes(self.rates)

    def _routes(self, rates: HourlyRates) -> Routes:
        return Routes(rates.layout, self._locations, from_nearest=self._from_nearest)
