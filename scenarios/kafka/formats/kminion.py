"""Racks of brokers from the metrics of kminion, `GET /metrics`.

Source: docs/metrics.md of redpanda-data/kminion: `kminion_kafka_broker_info{broker_id="9",rack_id="az1",…} 1`.
"""

from __future__ import annotations

from typing import Final

from scenarios.kafka.formats.exposition import parse_samples
from scenarios.kafka.formats.lines import FormatError

BROKER_INFO: Final = "kminion_kafka_broker_info"
"""The metric with the properties of a broker as labels."""

_INT_MAX = 2**31 - 1


def parse_kminion_brokers(text: str) -> dict[int, str | None]:
    """Parse the brokers among the metrics of kminion; other metrics are ignored.

    Returns the rack of each broker by id, in the order of the text; None for a broker without a rack. Raises
    FormatError if a line about a broker is malformed, a broker has two racks, or no broker is found.
    """
    racks: dict[int, str | None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.lstrip().startswith(BROKER_INFO):
            continue
        try:
            [sample] = parse_samples(line)
        except FormatError as error:
            raise FormatError(number, str(error)) from None
        label, rack = sample.labels.get("broker_id", ""), sample.labels.get("rack_id") or None
        if not label.isascii() or not label.isdecimal() or len(label) > 10 or int(label) > _INT_MAX:
            raise FormatError(number, f"broker_id='{label[:60]}' is not a broker id")
        if rack is not None and not rack.isprintable():
            raise FormatError(number, f"rack of broker {label}: not printable text")
        if racks.setdefault(int(label), rack) != rack:
            raise FormatError(
                number, f"broker {label} has two racks, {racks[int(label)] or 'none'} and {rack or 'none'}"
            )
    if not racks:
        raise FormatError(None, f"no sample of {BROKER_INFO}")
    return racks
