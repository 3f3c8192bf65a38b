"""Where events go, as lines on standard output or appended to a file, and the Prometheus endpoint of a watch."""

from __future__ import annotations

import ipaddress
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from assignor_sim.console.options import WatchFormat
from scenarios.kafka.observation.observation import ObservationError
from scenarios.watch.watch_events import WatchEvent
from scenarios.watch.watch_metrics import METRICS, WatchStatus

if TYPE_CHECKING:
    from prometheus_client.core import Metric


LOOPBACK: Final = "127.0.0.1"


class MetricsAddress(NamedTuple):
    """Where metrics are served.

    Attributes:
        host: host name or address.
        port: TCP port; 0 for a free one.
    """

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> MetricsAddress:
    """Parse `[HOST:]PORT`, by default only for this machine; raise ObservationError if the text is not an address."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else LOOPBACK
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535 or not host:
        raise ObservationError(f"--metrics {text}: expected [HOST:]PORT, as in 9400 or 0.0.0.0:9400")
    return MetricsAddress(host, int(port))


class StatusCollector:
    """Collects the metrics of the last poll, for prometheus_client."""

    def __init__(self, status: WatchStatus) -> None:
        self._status = status

    def publish(self, status: WatchStatus) -> None:
        """Replace the status; the next request gets it."""
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with their values."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        status = self._status
        for metric in METRICS:
            names = ("group", *metric.labels)
            family: Any
            if metric.kind == "counter":
                family = CounterMetricFamily(metric.full_name.removesuffix("_total"), metric.help, labels=names)
            else:
                family = GaugeMetricFamily(metric.full_name, metric.help, labels=names)
            for labels, value in metric.values(status):
                family.add_metric((status.group, *labels), value)
            yield family


@contextmanager
def serve_metrics(address: MetricsAddress, collector: StatusCollector) -> Iterator[MetricsAddress]:
    """Serve metrics over HTTP, at any path, for the duration of the block.

    Yields the address with the actual port. Raises ObservationError if prometheus_client is missing, or the address
    cannot be used.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ModuleNotFoundError:
        raise ObservationError("prometheus_client is required for --metrics: pip install assignor-sim[watch]") from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as error:
        raise ObservationError(f"--metrics {address}: {error.strerror or error}") from None
    try:
        yield MetricsAddress(address.host, int(server.server_port))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def print_events(events: Sequence[WatchEvent], format_: WatchFormat) -> None:
    """Print events to standard output at once."""
    for event in events:
        sys.stdout.write(f"{event.line() if format_ is WatchFormat.TEXT else json_line(event)}\n")
    if events:
        sys.stdout.flush()


def append_events(events: Sequence[WatchEvent], path: Path) -> None:
    """Append events to a file as JSON lines.

    The file is opened for each call, so that it may be rotated. The lines are written in one operation; if a line
    before was cut, by a killed process or a full disk, they begin on a new line. `path`: the file; created if it does
    not exist. Raises OSError if the file cannot be written.
    """
    if not events:
        return
    data = "".join(f"{json_line(event)}\n" for event in events).encode()
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            data = b"\n" + data
        written = os.write(handle, data)
        if written != len(data):
            raise OSError(28, "No space left on device", str(path))
    finally:
        os.close(handle)


def json_line(event: WatchEvent) -> str:
    """Return an event as one line of JSON."""
    return json.dumps(event.record(), ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
