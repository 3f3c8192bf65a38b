"""The Kafka releases whose answers and classes this project knows."""

from __future__ import annotations

from typing import Final

CLIENTS: Final = {
    "3.8": "3.8.1",
    "3.9": "3.9.2",
    "4.0": "4.0.2",
    "4.1": "4.1.2",
    "4.2": "4.2.2",
    "4.3": "4.3.1",
    "4.4": "4.4.0",
}
"""A patch of each minor release of `kafka-streams`, oldest first: the one whose answers are compared."""

BROKERS: Final = {"4.2.1": "4.2.1", "4.2": "4.2.2", "4.3": "4.3.1", "4.4": "4.4.0"}
"""A patch of each registered release of `kafka-group-coordinator` with streams groups, oldest first."""
