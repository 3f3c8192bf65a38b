"""A night of real groups of plain consumers, rebuilt from the segments of `__consumer_offsets` while the broker runs.

Every assignment is compared with that of this project, and the last one with what the consumers report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from assignor_sim.api.incident import IncidentOptions, investigate
from reports.analysis.incident import IncidentReport
from scenarios.kafka.incident.folder import read_incident
from scenarios.kafka.incident.recorded import RecordedGroup
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumer_night import (
    BROKER_CONFIGS,
    COPY_MS,
    GROUPS,
    capture_consumer_night,
)
from tests.kafka_cluster.consumers import ConsumerEvent

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

_STOPPED = ("b", "c")


@dataclass(frozen=True, slots=True)
class ConsumersNight:
    """A night, and what was recorded of it.

    Attributes:
        folder: The folder with the records.
        events: What the consumers printed.
        reports: Reports on the groups.
    """

    folder: Path
    events: Sequence[ConsumerEvent]
    reports: Mapping[str, IncidentReport]

    def recorded(self, group: str) -> RecordedGroup:
        """Return the rebalances of a group."""
        return read_incident(self.folder, group, None, None).group


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> ConsumersNight:
    folder = tmp_path_factory.mktemp("consumer-incident") / "night"
    with KafkaCluster(ClusterSpec(1, ("az1",), broker_configs=BROKER_CONFIGS)) as cluster:
        events = capture_consumer_night(cluster, folder)
    options = IncidentOptions(kafka="4.3", configs={key: str(value) for key, value in BROKER_CONFIGS.items()})
    return ConsumersNight(folder, events, {group: investigate(folder, group, options).report for group in GROUPS})


@pytest.mark.parametrize("group", GROUPS)
def test_every_assignment_is_recomputed(group: str, night: ConsumersNight) -> None:
    report = night.reports[group]
    assert [(rebalance.number, rebalance.differences) for rebalance in report.rebalances if rebalance.differences] == []
    assert len(report.compared) == len(report.rebalances) >= 5
    assert (report.protocol, report.assignor.removeprefix("broker-")) == (
        GROUPS[group].protocol,
        GROUPS[group].assignor,
    )


@pytest.mark.parametrize("group", GROUPS)
def test_last_assignment_is_what_the_consumers_report(group: str, night: ConsumersNight) -> None:
    last = night.recorded(group).rebalances[-1]
    owned: dict[str, frozenset[str]] = {}
    for event in night.events:
        if (
            event.group == group
            and event.name not in _STOPPED
            and event.at_ms <= COPY_MS
            and event.what == "generation"
            and event.member_id
        ):
            owned[event.member_id] = event.partitions
    assert {member.id: frozenset(member.active) for member in last.members} == owned


@pytest.mark.parametrize("group", GROUPS)
def test_join_departure_and_crash_are_the_causes(group: str, night: ConsumersNight) -> None:
    causes = [(cause.client, cause.kind) for rebalance in night.reports[group].rebalances for cause in rebalance.causes]
    for client in ("b", "d"):
        assert (f"{group}-{client}", "joined") in causes
    if GROUPS[group].is_static:  # A static consumer does not leave, and its return causes no rebalance.
        assert {kind for client, kind in causes if client == f"{group}-c"} == {"joined"}
    else:
        assert (f"{group}-c", "restarted") in causes
    assert (f"{group}-b", "left") in causes
    assert causes.index((f"{group}-d", "joined")) < causes.index((f"{group}-b", "left"))
