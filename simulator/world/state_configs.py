"""The configs that decide which state survives when a process is killed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_UNCOMMITTED_BYTES: Final = 64 * 1024 * 1024
"""The default of `statestore.uncommitted.max.bytes`."""


class OffsetStorage(StrEnum):
    """Where Kafka Streams keeps the changelog offsets of state on disk; see `simulator.flows.durable_state`.

    Attributes:
        CHECKPOINT_FILE: in a checkpoint file per task (up to 4.2.1).
        CHECKPOINT_FILE_WITHOUT_LEFTOVER: the same; with exactly-once, none is left while a task runs (from 4.2.2 on).
        STORES: in each store, next to its data (from 4.3 on).
    """

    CHECKPOINT_FILE = "checkpoint file"
    CHECKPOINT_FILE_WITHOUT_LEFTOVER = "checkpoint file, none while running with exactly-once"
    STORES = "stores"


@dataclass(frozen=True, slots=True)
class StateConfigs:
    """What decides which state survives when a process is killed.

    Attributes:
        exactly_once: whether `processing.guarantee` is `exactly_once_v2`.
        offset_storage: where the release keeps changelog offsets.
        transactional: whether stores get what is written only at commits (`enable.transactional.statestores`, 4.4);
            then the offsets are in stores.
        max_uncommitted_bytes: `statestore.uncommitted.max.bytes`, of all threads of a client together; more are
            committed at once. 0 is no limit.
    """

    exactly_once: bool = False
    commit_interval_ms: int = 30_000
    offset_storage: OffsetStorage = OffsetStorage.STORES
    transactional: bool = False
    max_uncommitted_bytes: int = MAX_UNCOMMITTED_BYTES
