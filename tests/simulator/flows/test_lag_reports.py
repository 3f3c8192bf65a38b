"""Clients report current, stale or no lags."""

from __future__ import annotations

import dataclasses

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.state import LATEST_OFFSET, NO_LAG
from simulator.flows.lag_reports import LagReports
from simulator.world.disturbances import Join
from simulator.world.group_configs import StateConfigs
from simulator.world.layout import FloatArray, lay_out
from simulator.world.world import OffsetReports, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, with_configs, with_late_clients, world

STATELESS, TASK = 0, 12
END_RECORDS = 600_000
RECORD_BYTES = 1_000
CURRENT, STALE, NEVER = range(3)
CLIENTS = np.arange(3)


def make_reports() -> tuple[LagReports, FloatArray, FloatArray]:
    """Return the reports of a current, a stale and a silent client, and the positions of empty copies."""
    base = world(3)
    kinds = (OffsetReports.CURRENT, OffsetReports.STALE, OffsetReports.NEVER)
    clients = [dataclasses.replace(client, reports=kind) for client, kind in zip(base.clients, kinds, strict=True)]
    layout = lay_out(base)
    return LagReports(layout, clients), np.zeros((len(layout.tasks), 3)), layout.state_bytes.astype(np.float64)


def test_commit_marker_of_each_changelog_is_never_read_under_exactly_once() -> None:
    base = world(1)
    layout = lay_out(base)
    reports = LagReports(layout, base.clients, exactly_once=True)
    end_bytes = layout.state_bytes.astype(np.float64)
    lags = reports.lags(np.array([0]), end_bytes[:, None], end_bytes, nowhere(end_bytes))
    assert lags[TASK] == 1
    assert reports.missing_records(lags)[TASK] == 0


def test_copies_never_catch_up_to_lag_0_under_exactly_once() -> None:
    """Observed with Kafka 4.3.1: with `acceptable.recovery.lag: 0`, warm-ups stay warm-ups."""
    runs = {}
    for exactly_once in (False, True):
        base = with_late_clients(with_configs(without_writes(world(2)), acceptable_recovery_lag=0), "late")
        configs = StateConfigs(exactly_once=exactly_once)
        application = dataclasses.replace(base.application, state_configs=configs)
        runs[exactly_once] = run(dataclasses.replace(base, application=application), Join(HOUR, ("late",)))
    assert runs[False].rounds[-1].followup_delay_ms is None
    assert runs[True].rounds[-1].followup_delay_ms is not None


def test_members_report_the_offsets_of_their_join_request() -> None:
    """The leader reads end offsets when all members have joined; by then, a changelog has grown."""
    reports, held, end = make_reports()
    held[TASK, CURRENT] = end[TASK]
    reports.report_at_join(np.array([TASK]), np.array([CURRENT]), held[[TASK], [CURRENT]])
    end[TASK] += 5 * RECORD_BYTES
    held[TASK, CURRENT] = end[TASK]
    assert reports.lags(CLIENTS, held, end, nowhere(end))[TASK, CURRENT] == 5
    reports.record(CLIENTS, held)
    assert reports.lags(CLIENTS, held, end, nowhere(end))[TASK, CURRENT] == 0


def without_writes(base: World) -> World:
    """Return the world without traffic: a copy that has caught up stays at lag 0."""
    topics = {
        name: dataclasses.replace(topic, bytes_per_s=(0,) * topic.num_partitions)
        for name, topic in base.cluster.topics.items()
    }
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def nowhere(end_bytes: FloatArray) -> np.ndarray:
    return np.full(len(end_bytes), UNASSIGNED)


def test_stale_client_reports_its_previous_position() -> None:
    reports, held_bytes, end_bytes = make_reports()
    held_bytes[TASK] = 100 * RECORD_BYTES
    lags = reports.lags(CLIENTS, held_bytes, end_bytes, nowhere(end_bytes))
    assert lags[TASK].tolist() == [END_RECORDS - 100, END_RECORDS, END_RECORDS]
    reports.record(CLIENTS, held_bytes)
    held_bytes[TASK] = 300 * RECORD_BYTES
    lags = reports.lags(CLIENTS, held_bytes, end_bytes, nowhere(end_bytes))
    assert lags[TASK].tolist() == [END_RECORDS - 300, END_RECORDS - 100, END_RECORDS]


def test_running_task_has_the_latest_offset_on_its_client_only() -> None:
    reports, held_bytes, end_bytes = make_reports()
    for owner in CLIENTS.tolist():
        running_on = nowhere(end_bytes)
        running_on[TASK] = owner
        lags = reports.lags(CLIENTS, held_bytes, end_bytes, running_on)
        assert np.flatnonzero(lags[TASK] == LATEST_OFFSET).tolist() == [owner]


def test_stateless_task_has_no_lag_even_if_it_runs() -> None:
    reports, held_bytes, end_bytes = make_reports()
    running_on = nowhere(end_bytes)
    running_on[STATELESS] = CURRENT
    assert (reports.lags(CLIENTS, held_bytes, end_bytes, running_on)[STATELESS] == NO_LAG).all()


def test_columns_follow_the_given_clients() -> None:
    reports, held_bytes, end_bytes = make_reports()
    held_bytes[TASK, CURRENT] = 7 * RECORD_BYTES
    lags = reports.lags(np.array([NEVER, CURRENT]), held_bytes, end_bytes, nowhere(end_bytes))
    assert lags[TASK].tolist() == [END_RECORDS, END_RECORDS - 7]
