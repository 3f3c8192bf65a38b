"""Segments of `__consumer_offsets` that real brokers wrote, by `python -m tests.kafka_cluster night`."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

from scenarios.kafka.formats.coordinator_records import CoordinatorRecord, decode_record
from scenarios.kafka.formats.record_batches import read_segment

CLASSIC, STREAMS = "shop", "kiosk"
PARTITIONS: Final = {CLASSIC: 12, STREAMS: 45}
EXAMPLE: Final = Path(__file__).parents[4] / "docs" / "examples" / "past-night"
DATA: Final = Path(__file__).parent / "data"
FOLDERS: Final = {"3.9.2": DATA / "3.9.2", "4.2.2": DATA / "4.2.2", "4.3.1": EXAMPLE, "4.4.0": DATA / "4.4.0"}
"""Folders with the segments of brokers of each release; clients had the same release."""

CONSUMER_FOLDER: Final = Path(__file__).parent / "consumer_data" / "4.3.1"
"""Segments with groups of plain consumers, by `python -m tests.kafka_cluster consumers`."""

WITH_STREAMS: Final = ("4.2.2", "4.3.1", "4.4.0")


def segment(release: str, group: str) -> bytes:
    """Return the segment that has a group."""
    return gzip.decompress((FOLDERS[release] / f"__consumer_offsets-{PARTITIONS[group]}.log.gz").read_bytes())


def records(release: str, group: str) -> list[CoordinatorRecord]:
    """Return the records of a group."""
    decoded = map(decode_record, read_segment(segment(release, group)).records)
    return [record for record in decoded if record is not None and record.group == group]


def printed(release: str, file: str) -> str:
    """Return what a tool of Kafka printed."""
    return gzip.decompress((FOLDERS[release] / f"{file}.gz").read_bytes()).decode()
