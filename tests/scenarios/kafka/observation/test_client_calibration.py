"""Calibration of clients with recorded and with random client metrics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.kafka.formats.client_metrics import ClientScrape, ThreadMetrics
from scenarios.kafka.observation.client_calibration import read_client_metrics, with_client_metrics
from scenarios.kafka.observation.observation import (
    ClientRates,
    Observation,
    ObservationError,
    ObservedSubtopology,
    ObservedTopic,
)
from scenarios.kafka.observation.scenario_writer import scenario_text
from scenarios.load import loads
from tests.scenarios.kafka.observation.observations import FIRST, OBSERVATION, SECOND

RECORDED = Path(__file__).parents[1] / "formats" / "client_metrics"
RECORD_BYTES = {"click-counts": 24, "page-changes": 24, "pages-store": 29}
MEGABYTE = 1_000_000


def _observation(client_id: str = "shop-one") -> Observation:
    """Return an observation with the changelogs of the recorded application, and a client in them."""
    changelogs = {store: f"shop-{store}-changelog" for store in RECORD_BYTES}
    topics = tuple(
        ObservedTopic(changelogs[store], ((1,),), (1,), (150_000 * size,), (0,), (150_000,))
        for store, size in RECORD_BYTES.items()
    )
    first, second = OBSERVATION.processes
    return replace(
        OBSERVATION,
        topics=topics,
        subtopologies=(ObservedSubtopology(1, ("orders",), changelogs),),
        processes=(replace(first, client_id=client_id), replace(second, client_id="shop-two")),
        assumptions=(),
    )


def _recorded(*names: str) -> list[ClientScrape]:
    return read_client_metrics([str(RECORDED / f"{name}.prom") for name in names])


def _rates(*names: str) -> ClientRates:
    return with_client_metrics(_observation(), _recorded(*names)).client_rates[FIRST]


def test_restoration_of_a_real_client_is_measured_between_scrapes() -> None:
    # Records read between the scrapes at 5,425 and 7,493 ms of uptime, by size.
    expected = (100_515 * 24 + 100_515 * 29 + 150_000 * 24) / 2.068
    assert _rates("restoring-1", "restoring-2", "restoring-3", "restored").restore_bytes_per_s == round(expected)


def test_single_scrape_has_only_the_average_of_kafka() -> None:
    # The restoration took 4 s, and Kafka's rate covers at least 30 s.
    observation = with_client_metrics(_observation(), _recorded("restoring-2"))
    rate = observation.client_rates[FIRST].restore_bytes_per_s
    assert rate is not None
    assert rate < 0.25 * MEGABYTE
    assert "averages over at least 30 s" in observation.assumptions[0]


def test_reading_for_standbys_is_no_restoration() -> None:
    """The restore consumer reads between these scrapes, too, but no active task restores at either time."""
    first, last = _recorded("restoring-1"), _recorded("restored")
    for scrape in first:
        for thread in scrape.threads.values():
            thread.restoring_tasks = 0.0
    observation = with_client_metrics(_observation(), [*first, *last])
    assert observation.client_rates == {}
    assert "no restoration" in observation.assumptions[0]
    assert "50 MB/s" in observation.assumptions[0]


def test_processing_of_a_real_client_follows_from_its_latency() -> None:
    scrapes = _recorded("processing")
    threads = list(scrapes[0].threads.values())
    rates = [thread.process_rate or 0.0 for thread in threads]
    latencies = [thread.process_latency_ms or 0.0 for thread in threads]
    mean_ms = sum(rate * latency for rate, latency in zip(rates, latencies, strict=True)) / sum(rates)
    records_per_s = with_client_metrics(_observation(), scrapes).client_rates[FIRST].records_per_s
    assert records_per_s is not None
    assert max(rates) <= records_per_s <= 1_000 / mean_ms
    assert records_per_s > 0.9 * 1_000 / mean_ms


@pytest.mark.parametrize(("records_per_s", "is_idle"), [(10.0, True), (1_000.0, False)])
def test_little_load_is_stated(records_per_s: float, is_idle: bool) -> None:
    threads = {"1": ThreadMetrics(process_rate=records_per_s, process_latency_ms=0.5)}
    observation = with_client_metrics(_observation(), [ClientScrape("shop-one", "", None, threads)])
    assert observation.client_rates[FIRST].records_per_s == 2_000
    assert ("in at most 0.50% of the time" in " ".join(observation.assumptions)) == is_idle


def test_client_without_metrics_is_as_fast_as_the_others() -> None:
    observation = with_client_metrics(_observation(), _recorded("processing", "restoring-2", "restoring-3"))
    first, second = observation.client_rates[FIRST], observation.client_rates[SECOND]
    assert (first.restore_bytes_per_s, first.records_per_s) == (second.restore_bytes_per_s, second.records_per_s)
    assert first.assumed == frozenset()
    assert second.assumed == {"restore_bytes_per_s", "records_per_s"}
    assert observation.assumptions[-1].endswith("(median): shop-two.")


def test_scenario_has_the_measured_rates() -> None:
    scrapes = _scrapes([(0, 0.0), (1_000, 500.0)], client=OBSERVATION.processes[0].client_id)
    observed = with_client_metrics(OBSERVATION, scrapes)
    text = scenario_text(observed)
    rate = observed.client_rates[FIRST].restore_bytes_per_s
    assert f"    restore: {rate}   # measured\n" in text
    assert f"    restore: {rate}   # median of the other clients\n" in text
    assert "# Measured:\n" in text
    plans = loads(text).blueprint.clients
    assert [plan.restore_bytes_per_s for plan in plans] == [rate, rate]


def test_scenario_without_metrics_has_no_rates() -> None:
    text = scenario_text(OBSERVATION)
    assert "restore:" not in text
    assert "Measured" not in text


def _scrapes(readings: Sequence[tuple[int | None, float]], client: str = "shop-one") -> list[ClientScrape]:
    return [
        ClientScrape(client, "", at_ms, {"1": ThreadMetrics(restoring_tasks=1.0, restored_bytes=total)})
        for at_ms, total in readings
    ]


@pytest.mark.parametrize("seed", range(20))
def test_fastest_interval_counts_in_any_order_of_scrapes(seed: int) -> None:
    generator = random.Random(seed)
    at_ms, total, fastest = 0, 0.0, 0.0
    readings: list[tuple[int | None, float]] = [(at_ms, total)]
    for _ in range(generator.randint(1, 20)):
        elapsed_ms, read = generator.randint(500, 60_000), float(generator.randint(0, 10**9))
        fastest = max(fastest, read * 1_000 / elapsed_ms)
        at_ms, total = at_ms + elapsed_ms, total + read
        readings.append((at_ms, total))
    scrapes = _scrapes(readings)
    generator.shuffle(scrapes)
    rates = with_client_metrics(_observation(), scrapes).client_rates[FIRST]
    assert rates.restore_bytes_per_s == round(fastest)


@pytest.mark.parametrize("seed", range(20))
def test_more_scrapes_never_lower_the_rate(seed: int) -> None:
    """A finer view of the same restoration finds a rate that is at least as high."""
    generator = random.Random(seed)
    readings: list[tuple[int | None, float]] = [(0, 0.0)]
    for _ in range(12):
        at_ms, total = readings[-1]
        assert at_ms is not None
        readings.append((at_ms + generator.randint(500, 20_000), total + generator.randint(1, 10**8)))
    every, coarse = (
        with_client_metrics(_observation(), _scrapes(readings[::step])).client_rates[FIRST].restore_bytes_per_s or 0
        for step in (1, generator.randint(2, 4))
    )
    assert every >= coarse - 1


def test_restarted_counter_is_no_rate() -> None:
    observed = with_client_metrics(_observation(), _scrapes([(0, 1e9), (1_000, 5e6), (2_000, 7e6)]))
    assert observed.client_rates[FIRST].restore_bytes_per_s == 2_000_000


def test_scrapes_without_times_are_not_compared() -> None:
    observed = with_client_metrics(_observation(), _scrapes([(None, 0.0), (None, 5e6)]))
    assert observed.client_rates == {}


def test_processes_with_the_same_client_id_are_not_compared_with_each_other() -> None:
    scrapes = _scrapes([(0, 0.0), (1_000, 4e6)]) + _scrapes([(500, 9e9), (1_500, 9e9 + 2e6)])
    for scrape in scrapes[2:]:
        scrape.process = "other"
    rates = with_client_metrics(_observation(), scrapes).client_rates[FIRST]
    assert rates.restore_bytes_per_s == 3_000_000


def test_metrics_of_another_application_are_rejected() -> None:
    with pytest.raises(ObservationError, match=r"no client of 'shop': clients in the metrics: shop-one \("):
        with_client_metrics(_observation("shop-eins"), _recorded("processing"))


def test_text_without_clients_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "other.prom").write_text("up 1\n")
    with pytest.raises(ObservationError, match="contain no Kafka Streams client"):
        with_client_metrics(_observation(), read_client_metrics([str(tmp_path)]))
