"""Releases that clients log, as releases that are simulated."""

from __future__ import annotations

import pytest

from scenarios.kafka.observation.releases import LoggedRelease
from scenarios.language.releases import parse_release


@pytest.mark.parametrize(
    ("version", "simulated"),
    [
        ("3.9.1", "3.9.1"),
        ("4.4.0-SNAPSHOT", "4.4.0"),
        ("3.9.0.redhat-00003", "3.9.0"),
        ("7.9.2-ccs", "3.9"),
        ("8.0.0-ce", "4.0"),
        ("4.3.20260401", "4.3"),
    ],
)
def test_supported_releases_are_simulated_as_such(version: str, simulated: str) -> None:
    release = LoggedRelease(version, "app.log")
    assert release.simulated == simulated
    assert parse_release(simulated)
    assert (len(list(release.assumptions())), list(release.warnings())) == (1, [])


@pytest.mark.parametrize(
    ("version", "described", "simulated"),
    [
        ("3.6.1", "Kafka 3.6.1", "3.8"),
        ("2.8.2", "Kafka 2.8.2", "3.8"),
        ("7.5.1-ccs", "Kafka 3.5 (7.5.1-ccs)", "3.8"),
        ("6.2.0-ccs", "Kafka 2.8 (6.2.0-ccs)", "3.8"),
        ("5.5.1-ccs", "Kafka 2.5 (5.5.1-ccs)", "3.8"),
        ("4.5.0", "Kafka 4.5.0", "4.4"),
    ],
)
def test_other_releases_are_named_with_the_nearest_supported_release(
    version: str, described: str, simulated: str
) -> None:
    release = LoggedRelease(version, "app.log")
    assert list(release.assumptions()) == []
    assert list(release.warnings()) == [
        f"Clients run {described} according to app.log, which is not supported: they are simulated as Kafka "
        f"{simulated}, the nearest supported release; results may differ."
    ]
