"""The predicted time of Kafka's assignors on a group leader is near the time that Kafka needs."""

from __future__ import annotations

import pytest

from tests.assignors.recording.scale_problems import assignor_of, predicted_ms, problem

pytestmark = pytest.mark.answers

MEASURED_MS = {
    "ha-large_partition_count-first": 30,
    "ha-large_partition_count-second": 45,
    "ha-large_num_consumers-first": 1_874,
    "ha-large_num_consumers-second": 3_608,
    "ha-many_standbys-first": 545,
    "ha-many_standbys-second": 3_718,
    "ha-many_threads_per_client-first": 17,
    "ha-many_threads_per_client-second": 23,
    "sticky-large_partition_count-first": 5_763,
    "sticky-large_partition_count-second": 6_104,
    "sticky-large_num_consumers-first": 103,
    "sticky-large_num_consumers-second": 73,
    "sticky-many_standbys-first": 1_110,
    "sticky-many_standbys-second": 1_162,
    "sticky-many_threads_per_client-first": 111,
    "sticky-many_threads_per_client-second": 100,
}
"""The median time of Kafka's own `assign`, of five calls after two that warm up, on a quiet machine (AMD EPYC, two
cores, OpenJDK 17.0.15, trunk of 2024-10-25), over the shapes of `StreamsAssignmentScaleTest`."""

FACTOR = 2.0
"""How far off a prediction may be, either way."""


@pytest.mark.parametrize(
    ("name", "measured_ms"),
    [
        pytest.param(*item, marks=pytest.mark.slow if "large_num_consumers" in item[0] else ())
        for item in MEASURED_MS.items()
    ],
)
def test_time_without_racks_is_predicted_within_the_stated_factor(name: str, measured_ms: float) -> None:
    assert measured_ms / FACTOR < predicted_ms(assignor_of(name), problem(name)) < measured_ms * FACTOR
