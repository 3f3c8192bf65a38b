"""Releases of brokers, inferred from the latest versions that released Kafka clients list for each request."""

from __future__ import annotations

import pytest

from scenarios.kafka.formats.broker_list import NEWER, OLDER, infer_release

KEYS = (0, 1, 2, 18, 35)


@pytest.mark.parametrize(
    ("latest", "release"),
    [
        ((11, 16, 8, 3, 4), OLDER),
        ((11, 17, 9, 4, 4), "3.9"),
        ((13, 18, 10, 4, 4), "4.1"),
        ((13, 18, 11, 4, 4), "4.2"),
        ((13, 18, 11, 4, 5), "4.3"),
        ((13, 18, 11, 5, 5), NEWER),
        ((14, 19, 12, 6, 6), NEWER),
    ],
)
def test_release_follows_from_the_latest_api_versions(latest: tuple[int, ...], release: str) -> None:
    assert infer_release(dict(zip(KEYS, latest, strict=True))) == release


@pytest.mark.parametrize("missing", KEYS)
def test_release_is_unknown_if_a_request_is_missing(missing: int) -> None:
    latest = dict(zip(KEYS, (13, 18, 11, 4, 5), strict=True))
    del latest[missing]
    assert infer_release(latest) is None
