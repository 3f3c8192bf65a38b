"""The Prometheus endpoint."""

from __future__ import annotations

import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from assignor_sim.watching.outputs import MetricsAddress, StatusCollector, parse_address, serve_metrics
from scenarios.kafka.observation.observation import ObservationError
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.watch_metrics import METRICS, WatchStatus
from tests.scenarios.watch.watched_groups import recorded_group

GROUP = 'shop "1"\n\\'


def status(polls: int = 1) -> WatchStatus:
    monitor = GroupMonitor(GROUP)
    application, snapshot = recorded_group()
    monitor.observe(snapshot, application)
    return WatchStatus(GROUP, monitor.status, False, 1_000, polls, 0, 0.5)


def read(address: MetricsAddress) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as response:
        text: str = response.read().decode()
    return text


def test_every_metric_is_served_with_its_type_and_help() -> None:
    with serve_metrics(MetricsAddress("127.0.0.1", 0), StatusCollector(status())) as address:
        families = {family.name: family for family in text_string_to_metric_families(read(address))}
    assert set(families) == {metric.full_name.removesuffix("_total") for metric in METRICS}
    for metric in METRICS:
        family = families[metric.full_name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.kind, metric.help)
        for sample in family.samples:
            assert set(sample.labels) == {"group", *metric.labels}
            assert sample.labels["group"] == GROUP
            assert sample.name == metric.full_name
    [members] = families["assignor_sim_watch_members"].samples
    assert members.value == 6


def test_next_request_gets_the_published_status() -> None:
    collector = StatusCollector(status(1))
    with serve_metrics(MetricsAddress("127.0.0.1", 0), collector) as address:
        assert "polls_total{" in read(address)
        first = [line for line in read(address).splitlines() if "_watch_polls_total" in line][-1]
        collector.publish(status(7))
        second = [line for line in read(address).splitlines() if "_watch_polls_total" in line][-1]
    assert (first[-3:], second[-3:]) == ("1.0", "7.0")


def test_server_ends_with_the_block() -> None:
    with serve_metrics(MetricsAddress("127.0.0.1", 0), StatusCollector(status())) as address:
        pass
    with socket.socket() as probe:
        assert probe.connect_ex((address.host, address.port)) != 0


def test_port_in_use_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = MetricsAddress("127.0.0.1", taken.getsockname()[1])
        expected = pytest.raises(ObservationError, match=rf"--metrics {address}: Address already in use")
        with expected, serve_metrics(address, StatusCollector(status())):
            pass


@pytest.mark.parametrize(
    ("text", "address", "is_loopback"),
    [
        ("9400", ("127.0.0.1", 9400), True),
        ("0.0.0.0:9400", ("0.0.0.0", 9400), False),
        ("localhost:0", ("localhost", 0), True),
        ("[::1]:9400", ("::1", 9400), True),
        ("[::]:9400", ("::", 9400), False),
        ("metrics.example:9400", ("metrics.example", 9400), False),
    ],
)
def test_address_is_loopback_unless_stated(text: str, address: tuple[str, int], is_loopback: bool) -> None:
    parsed = parse_address(text)
    assert parsed == address
    assert parsed.is_loopback == is_loopback
    assert parse_address(str(parsed)) == parsed


@pytest.mark.parametrize("text", ["", "x", ":9400", "70000", "host:", "host:-1", "1e3", "host:٣"])
def test_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(ObservationError, match=r"expected \[HOST:\]PORT"):
        parse_address(text)
