"""What follows from the Kafka release of the clients."""

from __future__ import annotations

import pytest

from scenarios.language.releases import (
    NEWEST,
    NEWEST_RELEASE,
    UnknownReleaseError,
    ended_threads,
    offset_storage,
    parse_release,
)
from simulator.world.group_configs import EndedThreads, OffsetStorage


@pytest.mark.parametrize(
    ("text", "storage"),
    [
        ("3.8.0", OffsetStorage.CHECKPOINT_FILE),
        ("3.9", OffsetStorage.CHECKPOINT_FILE),
        ("4.1.2", OffsetStorage.CHECKPOINT_FILE),
        ("4.2.1", OffsetStorage.CHECKPOINT_FILE),
        ("4.2.2", OffsetStorage.CHECKPOINT_FILE_WITHOUT_LEFTOVER),
        ("4.2", OffsetStorage.CHECKPOINT_FILE_WITHOUT_LEFTOVER),
        ("4.3.0", OffsetStorage.STORES),
        (NEWEST, OffsetStorage.STORES),
    ],
)
def test_release_decides_where_offsets_are_kept(text: str, storage: OffsetStorage) -> None:
    assert offset_storage(parse_release(text)) is storage


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("3.9.1", EndedThreads.UNSUBSCRIBE),
        ("4.0", EndedThreads.UNSUBSCRIBE),
        ("4.1.0", EndedThreads.UNSUBSCRIBE_IF_CLOSE_LEAVES),
        ("4.1.2", EndedThreads.UNSUBSCRIBE_IF_CLOSE_LEAVES),
        ("4.2.0", EndedThreads.CLOSE_OPERATION),
        (NEWEST, EndedThreads.CLOSE_OPERATION),
    ],
)
def test_release_decides_how_ended_threads_leave(text: str, ended: EndedThreads) -> None:
    assert ended_threads(parse_release(text)) is ended


@pytest.mark.parametrize("text", ["", "4", "4.x", "4.3.1.1", "v4.3", "4..3", "-4.3", "9999.1"])
def test_text_without_a_release_is_rejected(text: str) -> None:
    with pytest.raises(UnknownReleaseError, match="is not a Kafka release such as"):
        parse_release(text)


@pytest.mark.parametrize("text", ["3.7.2", "5.0", "4.99"])
def test_unsupported_release_is_rejected(text: str) -> None:
    with pytest.raises(UnknownReleaseError, match=r"not supported \(supported: 3\.8 to 4\.4\)"):
        parse_release(text)


def test_brokers_may_be_newer_than_clients() -> None:
    assert parse_release(NEWEST) == (*NEWEST_RELEASE, 999)
    with pytest.raises(UnknownReleaseError, match=r"not supported \(supported: 3\.8 to 4\.4\)"):
        parse_release("4.5")
