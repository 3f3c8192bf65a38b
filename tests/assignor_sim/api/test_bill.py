"""`sim.bill`, held to published sums of the traffic between zones of Kafka clusters on AWS."""

from __future__ import annotations

import dataclasses

import pytest

from assignor_sim.api.bill import BillError, bill
from reports.analysis.bill.monthly_bill import MonthlyBill
from scenarios.load import Scenario, loads

PUBLISHED = """\
name: published
cluster:
  brokers: {{count: 3, racks: [az1, az2, az3]}}
  configs: {{default.replication.factor: 3}}
  topics:
    - {{name: events, partitions: 9, bytes_per_s: {rate}}}
    - {{name: idle, partitions: 3}}
application:
  id: app
  subtopologies: [{{sources: [idle]}}]
clients: [{{name: app, count: 3, racks: [az1, az2, az3]}}]
other_traffic:
  producers: [{{name: services, topics: [events], racks: [az1, az2, az3], keyed: false}}]
  groups:
    - {{name: readers, topics: [events], racks: [az1, az2, az3], read_share: {fan_out}}}
duration: 24h
price: aws
"""
NEAREST = ("cluster.configs.replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector")


def published(rate: str, fan_out: float, *overrides: tuple[str, str]) -> Scenario:
    return loads(PUBLISHED.format(rate=rate, fan_out=fan_out), "published", overrides=overrides)


def usd(monthly: MonthlyBill) -> dict[str, float]:
    return {part.kind: part.transfers.usd for part in monthly.kinds}


def test_published_bill_of_100_mb_per_second_without_follower_fetching() -> None:
    # 100 MB/s in, 300 MB/s out, three replicas in three zones, 30 days, $0.02 per GB: 2/3 of what is produced and read
    # crosses zones, and two copies of each byte do: 66.7 + 200 + 200 MB/s.
    monthly = bill(published("100 MB/s", 3), savings=False)
    assert monthly.total.usd == pytest.approx(24_192, abs=0.5)
    assert usd(monthly) == pytest.approx(
        {"produce": 3_456, "produce_replication": 10_368, "other_read": 10_368}, abs=0.5
    )


def test_published_bill_of_100_mb_per_second_with_follower_fetching() -> None:
    monthly = bill(published("100 MB/s", 3, NEAREST), savings=False)
    assert monthly.total.usd == pytest.approx(13_824, abs=0.5)
    assert "other_read" not in usd(monthly)


def test_published_traffic_of_300_mib_per_second_with_two_readers() -> None:
    monthly = bill(published("300 MiB/s", 2), savings=False)
    per_second = monthly.total.bytes / (30 * 86_400)
    assert per_second == pytest.approx(1_200 * 2**20, rel=1e-6)


def test_bill_of_a_month_in_one_run_is_that_of_a_day_times_thirty() -> None:
    month = bill(published("100 MB/s", 3, ("duration", "30d")), savings=False)
    assert month.total.usd == pytest.approx(24_192, abs=0.01)
    assert month.total.bytes == pytest.approx(bill(published("100 MB/s", 3), savings=False).total.bytes, rel=1e-6)


def test_hourly_factors_with_a_mean_of_one_cost_the_same() -> None:
    hourly = str([0.25, 1.75] * 12)
    monthly = bill(published("100 MB/s", 3, ("traffic.hourly", hourly)), savings=False)
    assert monthly.total.usd == pytest.approx(24_192, abs=0.5)


def test_kinds_pairs_and_topics_have_the_same_sum() -> None:
    monthly = bill(published("100 MB/s", 3), savings=False)
    for parts in (monthly.kinds, monthly.pairs, monthly.others):
        assert sum(part.transfers.usd for part in parts) == pytest.approx(monthly.total.usd)


def test_other_providers_have_other_prices() -> None:
    prices = {"aws": 24_192, "gcp": 12_096, "azure": 0, "{provider: mine, usd_per_gb: 0.001}": 1_209.6}
    for price, expected in prices.items():
        monthly = bill(published("100 MB/s", 3, ("price", price)), savings=False)
        assert monthly.total.usd == pytest.approx(expected, abs=0.5), price


def test_savings_are_simulated() -> None:
    monthly = bill(published("100 MB/s", 3, ("other_traffic.compression_ratios", "{zstd: 4}")))
    after = {saving.key: None if saving.after is None else round(saving.after.usd) for saving in monthly.savings}
    assert after == {
        "follower_fetching": 13_824,
        "rack_aware_assignment": 24_192,
        "rack_aware_producing": 24_192 - 3_456,
        "compression": 24_192 // 4,
        "all": round((13_824 - 3_456) / 4),
    }


def test_brokers_alone_are_billed_for_their_side() -> None:
    monthly = bill(published("100 MB/s", 3), savings=False)
    all_, brokers = (monthly.billed(only_brokers=only) for only in (False, True))
    assert all_.usd == pytest.approx(monthly.total.usd)
    assert all_.bytes == pytest.approx(2 * monthly.total.bytes)
    assert brokers.usd == pytest.approx(3_456 / 2 + 10_368 + 10_368 / 2, abs=0.5)
    one_sided = dataclasses.replace(monthly, price=dataclasses.replace(monthly.price, received_usd_per_gb=0.0))
    assert one_sided.billed(only_brokers=True).usd == pytest.approx(10_368 + 10_368, abs=0.5)


def test_traffic_to_unknown_racks_is_not_billed() -> None:
    hidden = published("100 MB/s", 3, ("cluster.brokers", "{count: 3}"))
    monthly = bill(hidden, savings=False)
    assert monthly.total.usd == 0
    assert monthly.unknown_bytes > 0


def test_group_alongside_is_named_and_not_billed() -> None:
    text = PUBLISHED.format(rate="100 MB/s", fan_out=3)
    clients = "[{name: audit, count: 2, racks: [az1, az2]}]"
    with_group = loads(f"{text}consumers: [{{group: audit, topics: [events], clients: {clients}}}]\n", "published")
    alone, beside = (bill(scenario, savings=False) for scenario in (loads(text, "published"), with_group))
    assert (alone.unbilled, beside.unbilled) == ((), ("audit",))
    assert beside.kinds == alone.kinds


def test_scenario_without_price_is_an_error() -> None:
    text = PUBLISHED.format(rate="1 MB/s", fan_out=1).replace("price: aws\n", "")
    with pytest.raises(BillError, match="published: the scenario has no price; set price: aws"):
        bill(loads(text, "published"))


def test_failed_run_is_an_error() -> None:
    def broken(state: object) -> object:
        raise ValueError("no")

    with pytest.raises(BillError, match="the run with current settings failed"):
        bill(published("1 MB/s", 1), broken)  # type: ignore[arg-type]
