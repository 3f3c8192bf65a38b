"""Calibration of clients with their own metrics, from files and exporters: how fast they restore and process.

Only the rates of `clients` are calibrated. The times of the application (how long a store takes to open, or a
restoration to start) have no client metric of their own; `with_client_metrics` is the place to calibrate them.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from scenarios.kafka.formats.client_metrics import ClientScrape, client_scrapes, parse_samples
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.observation.observation import (
    ClientRates,
    Observation,
    ObservationError,
    ObservedProcess,
    client_names,
)
from scenarios.kafka.observation.scenario_lines import changelog_topics, topic_volumes
from scenarios.language.application_entries import ClientEntry
from scenarios.language.errors import format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from simulator.plurals import counted

_SCHEMES: Final = ("http://", "https://")
_TIMEOUT_S: Final = 10
_TOO_LONG: Final = f"longer than {MAX_IMPORT_BYTES:,} bytes"


def is_address(source: str) -> bool:
    """Return whether a source is the address of an exporter, not a file or folder."""
    return source.lower().startswith(_SCHEMES)


def read_client_metrics(sources: Sequence[str]) -> list[ClientScrape]:
    """Read the metrics of Kafka Streams clients.

    `sources`: files, folders of files, and addresses. Each file or answer is a text of Prometheus' JMX exporter, of one
    or several clients, or rows of a Prometheus query as JSON lines. Returns the metrics of each client and time. Raises
    ObservationError if a source is missing, unreachable, or has another format; the message contains the line.
    """
    return [scrape for source in sources for scrape in _read(source)]


def _read(source: str) -> list[ClientScrape]:
    if is_address(source):
        scrapes = _parse(_fetch(source), source)
        for scrape in scrapes:
            if scrape.at_ms is None:
                scrape.at_ms = round(time.monotonic() * 1_000)
        return scrapes
    path = Path(source)
    if not path.is_dir():
        return _parse(_text(path), source)
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise ObservationError(f"'{source}' contains no files with client metrics")
    return [scrape for file in files for scrape in _parse(_text(file), str(file))]


def _parse(text: str, source: str) -> list[ClientScrape]:
    try:
        return client_scrapes(parse_samples(text))
    except FormatError as error:
        raise ObservationError(f"{source}:{error.line}: {error}") from None


def _text(path: Path) -> str:
    try:
        return read_text(path, MAX_IMPORT_BYTES, _TOO_LONG)
    except UnreadableError as error:
        raise ObservationError(f"client metrics '{error.place(path)}': {error}") from None


def _fetch(address: str) -> str:
    try:
        # The scheme is checked; files and other schemes cannot be opened this way.
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read(MAX_IMPORT_BYTES + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise ObservationError(f"client metrics '{address}': {getattr(error, 'reason', None) or error}") from None
    if len(content) > MAX_IMPORT_BYTES:
        raise ObservationError(f"client metrics '{address}': {_TOO_LONG}")
    return content.decode("utf-8", errors="replace")


_MEGABYTE: Final = 1_000_000
_MIN_BUSY_SHARE: Final = 0.02
"""Below this share, the latency is that of few records, measured in whole milliseconds."""


@dataclass(frozen=True, slots=True)
class _RestoreRate:
    """The fastest restoration of a client.

    Attributes:
        is_windowed: Whether it is Kafka's own rate, an average over at least 30 s.
    """

    bytes_per_s: float
    is_windowed: bool


def with_client_metrics(
    observation: Observation, scrapes: Iterable[ClientScrape], newcomers: Sequence[ObservedProcess] = ()
) -> Observation:
    """Return the observation with the rates of its processes, and of processes that join later.

    A process without its own measurement has the median of the others: they run the same application. `observation`:
    the observed application; `scrapes`: metrics of its clients, at one or several times. Raises ObservationError if no
    scrape is of a client of the application.
    """
    processes = [*observation.processes, *newcomers]
    by_client = _series(scrapes, {process.client_id for process in processes}, observation)
    record_bytes = _RecordBytes.of(observation)
    restores = {
        client: rates
        for client, series in by_client.items()
        if (rates := [rate for scrapes in series if (rate := _restore_rate(scrapes, record_bytes)) is not None])
    }
    restore = {client: round(median(rate.bytes_per_s for rate in rates)) for client, rates in restores.items()}
    records = _by_client(by_client, _records_per_s)
    client_rates = {
        process.process_id: _rates_of(process.client_id, restore, records)
        for process in processes
        if restore or records
    }
    names = client_names(processes)
    unmeasured = [names[process.process_id] for process in processes if process.client_id not in by_client]
    busy = max(_busy_share(scrape) for series in by_client.values() for scrapes in series for scrape in scrapes)
    is_windowed = any(rate.is_windowed for rates in restores.values() for rate in rates)
    return replace(
        observation,
        client_rates=client_rates,
        measurements=(*observation.measurements, *_measurements(by_client, restore, records)),
        assumptions=(*observation.assumptions, *_assumptions(restore, records, unmeasured, is_windowed, busy)),
    )


@dataclass(frozen=True, slots=True)
class _RecordBytes:
    """Sizes of changelog records in the unit of the scenario: bytes on the brokers' disks.

    Attributes:
        by_topic: Mean size of the records of each changelog.
        mean: Mean over all changelogs; None if unknown.
    """

    by_topic: Mapping[str, float]
    mean: float | None

    @classmethod
    def of(cls, observation: Observation) -> _RecordBytes:
        changelogs = changelog_topics(observation)
        volumes = topic_volumes(observation)
        known = {name: float(volumes[name].record_bytes or 0) for name in changelogs if name in volumes}
        known = {name: size for name, size in sorted(known.items()) if size}
        num_records = {topic.name: sum(topic.end_offsets or ()) for topic in observation.topics if topic.name in known}
        total = sum(num_records.values())
        weighted = sum(size * num_records[name] for name, size in known.items()) / total if total else None
        return cls(known, weighted)


def _series(
    scrapes: Iterable[ClientScrape], client_ids: set[str], observation: Observation
) -> dict[str, list[list[ClientScrape]]]:
    """Return the scrapes of each process of each client id, by time."""
    series: dict[tuple[str, str], list[ClientScrape]] = defaultdict(list)
    others: set[str] = set()
    for scrape in scrapes:
        if scrape.client_id in client_ids:
            series[scrape.client_id, scrape.process].append(scrape)
        else:
            others.add(scrape.client_id)
    if not series:
        known = format_list("clients of the group", sorted(client_ids))
        found = (
            format_list("clients in the metrics", sorted(others)) if others else "they contain no Kafka Streams client"
        )
        raise ObservationError(
            f"the client metrics contain no client of '{observation.application_id}': {found} ({known}). They require "
            "the groups stream-thread-metrics, stream-state-updater-metrics and consumer-fetch-manager-metrics, with "
            "the labels thread_id and client_id"
        )
    by_client: dict[str, list[list[ClientScrape]]] = defaultdict(list)
    for (client_id, _), group in sorted(series.items()):
        by_client[client_id].append(sorted(group, key=lambda scrape: scrape.at_ms or 0))
    return dict(by_client)


def _by_client(
    by_client: Mapping[str, Sequence[Sequence[ClientScrape]]], measure: Callable[[Sequence[ClientScrape]], float | None]
) -> dict[str, int]:
    """Return the median over the processes with each client id, without those that show nothing."""
    measured = {
        client: [value for scrapes in series if (value := measure(scrapes)) is not None]
        for client, series in by_client.items()
    }
    return {client: round(median(values)) for client, values in measured.items() if values}


def _restore_rate(scrapes: Sequence[ClientScrape], record_bytes: _RecordBytes) -> _RestoreRate | None:
    """Return the fastest restoration: between two scrapes, or Kafka's own rate if that is higher; None without any."""
    between = [rate for before, after in pairwise(scrapes) if (rate := _rate_between(before, after, record_bytes))]
    windowed = [
        sum(thread.restore_records_rate or 0.0 for thread in scrape.threads.values()) * (record_bytes.mean or 0.0)
        for scrape in scrapes
        if _restores(scrape)
    ]
    fastest, fastest_windowed = max(between, default=0.0), max(windowed, default=0.0)
    if not fastest and not fastest_windowed:
        return None
    # Both are averages over times that may include idle time, so the higher one is closer.
    return _RestoreRate(max(fastest, fastest_windowed), is_windowed=fastest_windowed > fastest)


def _rate_between(before: ClientScrape, after: ClientScrape, record_bytes: _RecordBytes) -> float | None:
    """Return the bytes that were restored per second between two scrapes; None if unknown or not restoring.

    A restore consumer also reads for standbys, so an interval counts only if active tasks restore at its start or end.
    """
    if before.at_ms is None or after.at_ms is None or after.at_ms <= before.at_ms:
        return None
    if not (_restores(before) or _restores(after)):
        return None
    num_bytes = 0.0
    for number, thread in after.threads.items():
        earlier = before.threads.get(number)
        if earlier is None:
            continue
        read = {
            topic: records - earlier.restored_records.get(topic, 0.0)
            for topic, records in thread.restored_records.items()
            if topic in record_bytes.by_topic
        }
        if read:
            growth = sum(records * record_bytes.by_topic[topic] for topic, records in read.items())
        else:
            growth = (thread.restored_bytes or 0.0) - (earlier.restored_bytes or 0.0)
        if growth < 0 or min(read.values(), default=0) < 0:
            return None  # The counters restarted with the process.
        num_bytes += growth
    return num_bytes * 1_000 / (after.at_ms - before.at_ms) or None


def _restores(scrape: ClientScrape) -> bool:
    return any(thread.restoring_tasks for thread in scrape.threads.values())


def _records_per_s(scrapes: Sequence[ClientScrape]) -> float | None:
    """Return how many records a thread can process per second; None if the threads process none.

    The mean time per record is that of all records, and excludes the time for commits and punctuation.
    """
    threads = [
        thread
        for scrape in scrapes
        for thread in scrape.threads.values()
        if thread.process_rate and thread.process_latency_ms
    ]
    records = sum(thread.process_rate or 0 for thread in threads)
    if not records:
        return None
    weights = [((thread.process_rate or 0) / records, thread) for thread in threads]
    latency_ms = sum(weight * (thread.process_latency_ms or 0) for weight, thread in weights)
    other = sum(weight * ((thread.commit_ratio or 0) + (thread.punctuate_ratio or 0)) for weight, thread in weights)
    # A thread can do what it has done.
    observed = max(thread.process_rate or 0 for thread in threads)
    return max(1.0, observed, 1_000 / latency_ms * max(0.0, 1 - other))


def _busy_share(scrape: ClientScrape) -> float:
    """Return the share of the time in which the busiest thread processes records."""
    return max(
        ((thread.process_rate or 0) * (thread.process_latency_ms or 0) / 1_000 for thread in scrape.threads.values()),
        default=0.0,
    )


def _rates_of(client_id: str, restore: Mapping[str, int], records: Mapping[str, int]) -> ClientRates:
    values = {}
    assumed = set()
    for name, measured in (("restore_bytes_per_s", restore), ("records_per_s", records)):
        if measured:
            values[name] = max(1, measured.get(client_id, round(median(measured.values()))))
            if client_id not in measured:
                assumed.add(name)
    return ClientRates(**values, assumed=frozenset(assumed))


def _measurements(
    by_client: Mapping[str, Sequence[Sequence[ClientScrape]]], restore: Mapping[str, int], records: Mapping[str, int]
) -> Iterator[str]:
    num_scrapes = sum(len(scrapes) for series in by_client.values() for scrapes in series)
    source = f"{counted(len(by_client), 'client')}, {counted(num_scrapes, 'scrape')}"
    if restore:
        rates = _range(restore, _MEGABYTE, "MB/s")
        yield f"Restoration at {rates} or more: the fastest between scrapes in which active tasks restore ({source})."
    if records:
        yield f"Processing of {_range(records, 1, 'records/s')} per thread, from process-latency-avg ({source})."


def _assumptions(
    restore: Mapping[str, int],
    records: Mapping[str, int],
    unmeasured: Sequence[str],
    is_windowed: bool,
    busy: float,
) -> Iterator[str]:
    if not restore:
        default = ClientEntry.model_fields["restore"].default / _MEGABYTE
        yield (
            "The client metrics show no restoration of active tasks: clients restore at the default rate of "
            f"{default:g} MB/s. Pass scrapes from a restoration, or set restore."
        )
    elif is_windowed:
        yield (
            "Restoration rates are Kafka's averages over at least 30 s, and too low if a restoration was shorter. "
            "Several scrapes with times or with the uptime of the process, and the metrics of restore consumers, are "
            "more accurate."
        )
    if records:
        yield "Threads are assumed to need no time for poll(); they may process less than their latency allows."
        if busy < _MIN_BUSY_SHARE:
            yield (f"Threads processed records in at most {busy:.2%} of the time; under load, their rate may differ.")
    else:
        yield (
            "The client metrics show no processing: threads have no limit. Pass scrapes under load, or set "
            "records_per_s."
        )
    if unmeasured and (restore or records):
        yield f"Clients without metrics are assumed as fast as the others (median): {', '.join(unmeasured)}."


def _range(values: Mapping[str, int], unit: int, name: str) -> str:
    low, high = min(values.values()) / unit, max(values.values()) / unit
    return f"{_number(low)} {name}" if low == high else f"{_number(low)} to {_number(high)} {name}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
