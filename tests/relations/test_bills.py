"""Relations of bills: prices by pair of racks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.analysis.bill.monthly_bill import BillPrice, MonthlyBill, monthly_bill
from simulator.results.tabulation import tabulate
from simulator.world.world import PairPrice, Price, World
from tests.relations.relation import relation
from tests.relations.test_other_traffic import busy_worlds, traced
from tests.simulator.world_builders import RACKS

pytestmark = pytest.mark.answers

ALL_RACKS = (*RACKS, "az4")
"""The racks of worlds, and that of producers and groups without brokers."""

PRICES = st.integers(0, 100).map(lambda cents: cents / 1000)


def priced(world: World, price: Price) -> tuple[MonthlyBill, Mapping[str, pa.Table]]:
    """Return the bill of a run of a world at a price, and the tables of the run."""
    trace = traced(dataclasses.replace(world, price=price))
    tables = tabulate(trace, "ha", 1)
    pairs = {pair: tuple(cost) for pair, cost in price.pairs.items()}
    rate = BillPrice(price.provider, price.usd_per_gb, price.received_usd_per_gb, price.as_of, pairs)
    return monthly_bill(tables, rate, scenario="s", assignor="ha", days=30, simulated_ms=max(1, trace.end_ms)), tables


def close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)


@relation(10)
@given(world=busy_worlds(), usd=PRICES)
def test_the_same_price_for_each_pair_is_the_flat_price(world: World, usd: float) -> None:
    """A table with the same price for all pairs of racks gives the bill of the flat price."""
    flat = Price("mine", usd, "test", usd / 2)
    pairs = dict.fromkeys(permutations(ALL_RACKS, 2), PairPrice(usd, usd / 2))
    flat_bill, flat_tables = priced(world, flat)
    pair_bill, tables = priced(world, Price("mine", 999.0, "test", 1.0, pairs))
    assert close(flat_bill.total.usd, pair_bill.total.usd)
    assert [(part.kind, part.transfers.bytes) for part in flat_bill.kinds] == [
        (part.kind, part.transfers.bytes) for part in pair_bill.kinds
    ]
    for only_brokers in (False, True):
        billed = [bill.billed(only_brokers=only_brokers) for bill in (flat_bill, pair_bill)]
        assert close(billed[0].usd, billed[1].usd)
        assert close(billed[0].bytes, billed[1].bytes)
    for name in ("cross_rack_usd", "cross_rack_usd_per_day"):
        flat_usd, pair_usd = (of_run["runs"][name][0].as_py() for of_run in (flat_tables, tables))
        assert (flat_usd is None) == (pair_usd is None)
        assert flat_usd is None or close(flat_usd, pair_usd)


@relation(10)
@given(world=busy_worlds(), costs=st.lists(PRICES, min_size=12, max_size=12), usual=PRICES)
def test_parts_of_a_bill_add_up(world: World, costs: list[float], usual: float) -> None:
    """Pairs, kinds and the total have the same sum, and each pair costs its bytes at its own price."""
    pairs = {
        pair: PairPrice(cost, cost / 4)
        for pair, cost in zip(permutations(ALL_RACKS, 2), costs, strict=True)
        if cost > 0.03
    }
    bill, tables = priced(world, Price("mine", usual, "test", 0.0, pairs))
    assert close(sum(pair.transfers.usd for pair in bill.pairs), bill.total.usd)
    assert close(sum(pair.transfers.bytes for pair in bill.pairs), bill.total.bytes)
    for pair in bill.pairs:
        price = pairs.get((pair.from_rack, pair.to_rack), PairPrice(usual, 0.0)).usd_per_gb
        assert pair.usd_per_gb == price
        assert close(pair.transfers.usd, pair.transfers.bytes * price / 1e9)
    assert close(bill.billed(only_brokers=False).usd, bill.total.usd)
    others = sum(part.transfers.usd for part in bill.kinds if part.kind in {user.kind for user in bill.others})
    assert close(sum(user.transfers.usd for user in bill.others), others)
    [run] = tables["runs"].to_pylist()
    in_rounds = run["cross_rack_usd"]
    if in_rounds is not None and tables["rounds"]["at_ms"].to_pylist()[:1] == [0]:
        scale = 30 * 86_400_000 / bill.simulated_ms
        assert close(in_rounds * scale, bill.total.usd)


@relation(10)
@given(world=busy_worlds(), costs=st.lists(PRICES, min_size=12, max_size=12))
def test_a_day_costs_each_pair_at_its_own_price(world: World, costs: list[float]) -> None:
    """The cost of a day is that of the steady state after the last rebalance, however the run distributed its bytes."""
    pairs = {pair: PairPrice(usd, 0.0) for pair, usd in zip(permutations(ALL_RACKS, 2), costs, strict=True)}
    trace = traced(dataclasses.replace(world, price=Price("mine", 999.0, "test", pairs=pairs)))
    [run] = tabulate(trace, "ha", 1)["runs"].to_pylist()
    if run["cross_rack_bytes_per_s"] is None:
        assert run["cross_rack_usd_per_day"] is None
        return
    usd_per_day = 0.0
    racks = trace.layout.racks
    for matrix in trace.rounds[-1].steady_state.values():
        for source, from_rack in enumerate(racks):
            for target, to_rack in enumerate(racks):
                if source != target:
                    usd_per_day += 86_400 * matrix[source, target] / 1e9 * pairs[from_rack, to_rack].usd_per_gb
    assert close(run["cross_rack_usd_per_day"], usd_per_day)


@relation(10)
@given(world=busy_worlds(), usd=PRICES)
def test_dearer_pairs_never_lower_the_bill(world: World, usd: float) -> None:
    """A higher price of one pair raises the bill by the difference for the bytes of that pair, and no other pair."""
    base = Price("mine", usd, "test")
    dear = dataclasses.replace(base, pairs={("az1", "az2"): PairPrice(usd + 0.5, 0.0)})
    (usual, _), (dearer, _) = priced(world, base), priced(world, dear)
    sent = sum(p.transfers.bytes for p in usual.pairs if (p.from_rack, p.to_rack) == ("az1", "az2"))
    assert close(dearer.total.usd - usual.total.usd, 0.5 * sent / 1e9)
