"""The bandwidth that all applications of a cluster share while they restore: of brokers, hosts and clients.

A copy reads its changelogs at a rate that its client, the host of its client and the brokers that lead the changelogs
limit. Clients of any application on a host share the network of that host, and all applications share the brokers. The
rates are max-min fair over all copies of all applications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray, distinct
from simulator.max_min_fairness import max_min_shares, max_min_shares_of_two
from simulator.world.layout import FloatArray
from simulator.world.world import Client, ClientHost, World

_NO_HOST = -1


@dataclass(frozen=True, slots=True, eq=False)
class ReadDemands:
    """The K copies of an application that read now.

    Attributes:
        client: shape (K,); the row of each copy's client.
        broker_share: shape (K, B); the fraction of its changelogs that each broker leads; used if brokers are limited.
        bytes_per_s: shape (K,); how fast it would read, infinity for as fast as possible.
    """

    client: IntArray
    broker_share: FloatArray
    bytes_per_s: FloatArray


class SharedBandwidth:
    """Divides the bandwidth of brokers and hosts among the applications of a cluster.

    Attributes:
        brokers: shape (B,); what each broker sends to restoring clients; infinity for no limit.
        hosts: shape (H,); what the clients on each host with limited bandwidth receive.
        limits_brokers: whether any broker is limited.

    Guarantees: rates are max-min fair. Applications that have no limited broker and no limited host in common get the
    rates, to the last bit, that they would get alone.
    Complexity: for K copies that read, N clients, H hosts and B limited brokers: up to K + N + H + B passes of
    O(K · (H + B)); without limited brokers, O(K) for each host and pass.
    """

    def __init__(
        self, broker_bytes_per_s: FloatArray, hosts: Sequence[ClientHost], applications: Sequence[Sequence[Client]]
    ) -> None:
        """Create the bandwidth, which no application uses yet.

        `broker_bytes_per_s`, shape (B,): what each broker sends to restoring clients; infinity for no limit. `hosts`:
        the hosts with limited bandwidth; clients on other hosts are limited by themselves only.
        """
        self.brokers = broker_bytes_per_s
        self.hosts: FloatArray = np.array([host.restore_bytes_per_s for host in hosts], dtype=np.float64)
        host_rows = {host.name: row for row, host in enumerate(hosts)}
        self.limits_brokers = bool(np.isfinite(broker_bytes_per_s).any())
        self._clients = [
            np.array([client.restore_bytes_per_s for client in clients], dtype=np.float64) for clients in applications
        ]
        self._host_of = [
            np.array([host_rows.get(client.host or "", _NO_HOST) for client in clients], dtype=np.int64)
            for clients in applications
        ]
        nothing = ReadDemands(
            np.zeros(0, dtype=np.int64),
            np.zeros((0, len(broker_bytes_per_s)), dtype=np.float64),
            np.zeros(0, dtype=np.float64),
        )
        self._demands = [nothing for _ in applications]
        self._granted = [nothing.bytes_per_s for _ in applications]
        self._outdated: list[int] = []

    @classmethod
    def of_worlds(cls, worlds: Sequence[World]) -> SharedBandwidth:
        """Return the bandwidth of the brokers and of all hosts of worlds with the same cluster, one per application."""
        limits = [np.inf if b.restore_bytes_per_s is None else b.restore_bytes_per_s for b in worlds[0].cluster.brokers]
        hosts = {host.name: host for world in worlds for host in world.hosts}
        return cls(np.array(limits, dtype=np.float64), tuple(hosts.values()), [world.clients for world in worlds])

    def of_application(self, index: int) -> ApplicationBandwidth:
        """Return the bandwidth as one of the applications sees it."""
        return ApplicationBandwidth(self, index)

    @property
    def outdated(self) -> Sequence[int]:
        """The applications whose rates have changed because another one reads more or less, ascending.

        They have to be granted their rates again, with `divide`.
        """
        return self._outdated

    def divide(self, index: int, demands: ReadDemands) -> FloatArray:
        """Set what one application would read, and return the rates of its copies, shape (K,)."""
        self._demands[index] = demands
        if len(self._demands) == 1:
            self._granted[index] = self._share_out([index]) if len(demands.client) else demands.bytes_per_s
            return self._granted[index]
        rates = self._rates()
        self._granted[index] = rates[index]
        self._outdated = [
            other for other, granted in enumerate(self._granted) if not np.array_equal(granted, rates[other])
        ]
        return rates[index]

    def _rates(self) -> list[FloatArray]:
        """Return the rates of all copies of each application."""
        rates: list[FloatArray] = [np.zeros(len(reads.client), dtype=np.float64) for reads in self._demands]
        for together in self._coupled():
            shares = self._share_out(together)
            if len(together) == 1:
                rates[together[0]] = shares
                continue
            ends = np.cumsum([len(self._demands[index].client) for index in together])
            for index, share in zip(together, np.split(shares, ends[:-1]), strict=True):
                rates[index] = share
        return rates

    def _coupled(self) -> list[list[int]]:
        """Group the applications that read now: two that use the same limited broker or host are in one group."""
        reading = [index for index, reads in enumerate(self._demands) if len(reads.client)]
        if len(reading) <= 1:
            return [reading] if reading else []
        groups: list[tuple[set[tuple[str, int]], list[int]]] = []
        for index in reading:
            used, together = self._limited(index), [index]
            for other in [group for group in groups if group[0] & used]:
                groups.remove(other)
                used, together = used | other[0], [*other[1], *together]
            groups.append((used, sorted(together)))
        return [together for _, together in groups]

    def _limited(self, index: int) -> set[tuple[str, int]]:
        """Return the limited brokers and hosts that an application uses."""
        reads = self._demands[index]
        hosts = distinct(self._host_of[index][reads.client])
        of_hosts = {("host", row) for row in hosts.tolist() if row != _NO_HOST}
        if not self.limits_brokers:
            return of_hosts
        brokers = np.flatnonzero(np.isfinite(self.brokers) & (reads.broker_share > 0).any(axis=0))
        return of_hosts | {("broker", row) for row in brokers.tolist()}

    def _share_out(self, together: Sequence[int]) -> FloatArray:
        """Return the max-min fair rates of the copies of some applications, one after the other."""
        reads = [self._demands[index] for index in together]
        if len(reads) == 1 and not self.limits_brokers and not len(self.hosts):
            return max_min_shares(self._clients[together[0]], reads[0].client, reads[0].bytes_per_s)
        first = np.cumsum([0, *(len(self._clients[index]) for index in together)])
        clients = np.concatenate([self._clients[index] for index in together])
        client = np.concatenate([part.client + first[place] for place, part in enumerate(reads)])
        wanted = np.concatenate([part.bytes_per_s for part in reads])
        host = np.concatenate([self._host_of[index] for index in together])[client]
        used_hosts = distinct(host[host != _NO_HOST])
        if not self.limits_brokers:
            rates = max_min_shares(clients, client, wanted)
            # No copy uses two hosts, so the hosts do not depend on each other.
            for row in used_hosts.tolist():
                on_host = np.flatnonzero(host == row)
                rates[on_host] = max_min_shares_of_two(
                    clients, client[on_host], self.hosts[[row]], np.ones((len(on_host), 1)), wanted[on_host]
                )
            return rates
        capacity, use = self.brokers, np.concatenate([part.broker_share for part in reads])
        if len(used_hosts):
            capacity = np.concatenate((capacity, self.hosts[used_hosts]))
            use = np.hstack((use, (host[:, None] == used_hosts).astype(np.float64)))
        return max_min_shares_of_two(clients, client, capacity, use, wanted)


@dataclass(frozen=True, slots=True, eq=False)
class ApplicationBandwidth:
    """The part of one application in a shared bandwidth. `index`: the application."""

    shared: SharedBandwidth
    index: int

    def divide(self, demands: ReadDemands) -> FloatArray:
        """Set what the application would read, and return the rates of its copies, shape (K,)."""
        return self.shared.divide(self.index, demands)
