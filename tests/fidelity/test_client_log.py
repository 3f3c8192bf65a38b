"""A client's log shows up to where its stores had been written when they were opened."""

from __future__ import annotations

from tests.fidelity.client_log import opened_offsets

EMPTY = "did not find checkpoint offset, hence would default to the starting offset at changelog"
WRITTEN = "initialized from checkpoint with offset 266 at changelog"
THREAD = "stream-thread [app-c1-StreamThread-1]"


def line(message: str) -> str:
    logger = "org.apache.kafka.streams.processor.internals.ProcessorStateManager"
    return f"2026-01-01 10:00:01.000 [app-c1-StreamThread-1] INFO {logger} - {message}\n"


def test_last_opening_of_each_store_of_a_task_counts() -> None:
    log = "".join(
        (
            line(f"{THREAD} stream-task [0_1] State store counts {EMPTY} app-counts-changelog-1"),
            line(f"{THREAD} standby-task [0_2] State store counts {EMPTY} app-counts-changelog-2"),
            line(f"stream-client [app-c1] State store counts {WRITTEN} app-counts-changelog-3"),
            line(f"{THREAD} stream-task [0_1] State store counts {WRITTEN} app-counts-changelog-1"),
            line(f"{THREAD} stream-task [0_1] State store sums {EMPTY} app-sums-changelog-1"),
        )
    )
    assert opened_offsets(log, "app-c1") == {
        "0_1": {("app-counts-changelog", 1): 267, ("app-sums-changelog", 1): 0},
        "0_2": {("app-counts-changelog", 2): 0},
    }
    assert opened_offsets(log, "app") == {}
