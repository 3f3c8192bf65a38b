"""Copies of several applications share clients, hosts and brokers max-min fairly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flows.shared_bandwidth import ReadDemands, SharedBandwidth
from simulator.world.world import Client, ClientHost
from tests.simulator.invariants import exceeded_limit
from tests.simulator.world_builders import client

INF = float("inf")
HOSTS = (ClientHost("h0", 7), ClientHost("h1", 20))


@dataclass(frozen=True, slots=True)
class Reads:
    """An application: its clients, and the copies that read, each with client, broker shares and demand."""

    clients: tuple[Client, ...]
    copies: tuple[tuple[int, tuple[float, ...], float], ...]

    def demands(self, brokers: int) -> ReadDemands:
        return ReadDemands(
            np.array([client for client, _, _ in self.copies], dtype=np.int64),
            np.array([share for _, share, _ in self.copies], dtype=np.float64).reshape(-1, brokers),
            np.array([demand for _, _, demand in self.copies], dtype=np.float64),
        )


@st.composite
def applications(draw: st.DrawFn) -> Reads:
    clients = draw(
        st.lists(st.tuples(st.sampled_from((3, 10, 50)), st.sampled_from((None, "h0", "h1"))), min_size=1, max_size=3)
    )
    shares = st.sampled_from(((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.25, 0.75), (0.0, 0.0)))
    demands = st.sampled_from((0.0, 1.0, 2.5, INF, INF))
    copies = st.tuples(st.integers(0, len(clients) - 1), shares, demands)
    return Reads(
        tuple(
            client(f"c{place}", None, restore_bytes_per_s=limit, host=host)
            for place, (limit, host) in enumerate(clients)
        ),
        tuple(draw(st.lists(copies, max_size=5))),
    )


def fill(brokers: list[float], reads: list[Reads]) -> list[list[Fraction]]:
    """Return the max-min fair rates by progressive filling: all rates grow alike until a limit or demand stops them."""
    capacity: dict[object, Fraction] = {host.name: Fraction(host.restore_bytes_per_s) for host in HOSTS}
    capacity |= {number: Fraction(limit) for number, limit in enumerate(brokers) if limit != INF}
    uses: dict[tuple[int, int], dict[object, Fraction]] = {}
    for index, application in enumerate(reads):
        for row, member in enumerate(application.clients):
            capacity[index, row] = Fraction(member.restore_bytes_per_s)
        for place, (row, shares, _) in enumerate(application.copies):
            used: dict[object, Fraction] = {(index, row): Fraction(1)}
            if application.clients[row].host is not None:
                used[application.clients[row].host] = Fraction(1)
            used |= {number: Fraction(share) for number, share in enumerate(shares) if share and number in capacity}
            uses[index, place] = used
    rate = dict.fromkeys(uses, Fraction(0))
    growing = set(uses)
    while growing:
        steps = [Fraction(reads[i].copies[k][2]) - rate[i, k] for i, k in growing if reads[i].copies[k][2] != INF]
        for limit, amount in capacity.items():
            weight = sum(uses[copy].get(limit, Fraction(0)) for copy in growing)
            if weight:
                taken = sum(rate[copy] * uses[copy].get(limit, Fraction(0)) for copy in uses)
                steps.append((amount - taken) / weight)
        step = min(steps)
        for copy in growing:
            rate[copy] += step
        full = {
            limit
            for limit, amount in capacity.items()
            if sum(rate[copy] * uses[copy].get(limit, Fraction(0)) for copy in uses) == amount
        }
        growing = {(i, k) for i, k in growing if rate[i, k] != reads[i].copies[k][2] and not full & set(uses[i, k])}
    return [[rate[i, k] for k in range(len(application.copies))] for i, application in enumerate(reads)]


@given(
    st.lists(applications(), min_size=1, max_size=3),
    st.sampled_from(([INF, INF], [12.0, INF], [12.0, 5.0], [100.0, 100.0])),
    st.randoms(use_true_random=False),
)
def test_rates_equal_progressive_filling(reads: list[Reads], brokers: list[float], chance: object) -> None:
    shared = SharedBandwidth(np.array(brokers), HOSTS, [application.clients for application in reads])
    order = list(range(len(reads)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    rates: dict[int, np.ndarray] = {}
    for index in order:
        rates[index] = shared.of_application(index).divide(reads[index].demands(len(brokers)))
    while shared.outdated:
        index = shared.outdated[0]
        rates[index] = shared.of_application(index).divide(reads[index].demands(len(brokers)))
    expected = fill(brokers, reads)
    for index, application in enumerate(reads):
        assert rates[index].tolist() == pytest.approx([float(rate) for rate in expected[index]], rel=1e-9, abs=1e-9)
        demands = application.demands(len(brokers))
        assert exceeded_limit(shared, index, demands.client, demands.broker_share, rates[index]) is None


def reading(*clients: int, share: tuple[float, float] = (1.0, 0.0)) -> ReadDemands:
    return ReadDemands(
        np.array(clients, dtype=np.int64), np.array([share] * len(clients)).reshape(-1, 2), np.full(len(clients), INF)
    )


def two_applications(brokers: list[float], hosts: tuple[str | None, str | None]) -> SharedBandwidth:
    clients = [(client("c", None, restore_bytes_per_s=100, host=host),) for host in hosts]
    return SharedBandwidth(np.array(brokers), HOSTS, clients)


def test_second_application_outdates_the_first() -> None:
    shared = two_applications([12.0, INF], (None, None))
    assert shared.divide(0, reading(0)).tolist() == [12.0]
    assert shared.divide(1, reading(0)).tolist() == [6.0]
    assert shared.outdated == [0]
    assert shared.divide(0, reading(0)).tolist() == [6.0]
    assert not shared.outdated
    shared.divide(1, reading())
    assert shared.outdated == [0]
    assert shared.divide(0, reading(0)).tolist() == [12.0]


def test_other_brokers_and_hosts_are_not_outdated() -> None:
    shared = two_applications([12.0, 12.0], ("h1", None))
    shared.divide(0, reading(0))
    assert shared.divide(1, reading(0, share=(0.0, 1.0))).tolist() == [12.0]
    assert not shared.outdated


@pytest.mark.parametrize(
    ("brokers", "hosts", "rate", "violation"),
    [
        ([INF, INF], (None, None), 101.0, "a client reads faster than it can"),
        ([INF, INF], ("h1", "h1"), 11.0, "a host receives faster than it can"),
        ([12.0, INF], (None, None), 7.0, "a broker sends faster than it can"),
        ([12.0, INF], (None, None), 6.0, None),
    ],
)
def test_violations_count_all_applications(
    brokers: list[float], hosts: tuple[str | None, str | None], rate: float, violation: str | None
) -> None:
    shared = two_applications(brokers, hosts)
    for index in (0, 1, 0):
        shared.divide(index, reading(0))
    exceeded = exceeded_limit(shared, 0, np.array([0]), np.array([[1.0, 0.0]]), np.array([rate]))
    assert exceeded == violation
