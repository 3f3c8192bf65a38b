"""The rollout of a setting of an application: a simulated rolling restart from the current state, steps and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pipeline.checkup.program import RunRequests
from pipeline.checkup.rollout import (
    HOURS,
    START,
    build_rollout,
    format_range,
    grade_checks,
    known_values,
    rollout_request,
    rollout_seeds,
)
from pipeline.checkup.streams_settings import TAGS, ZONE, StreamsSetting, StreamsSettings, set_zone_tag
from pipeline.recommend.space import ASSIGNOR, PROBING, STANDBYS, STRATEGY, WARMUPS
from reports.analysis.checkup.report import ReportCard, Rollout
from reports.analysis.formatting import format_bytes, format_count, format_duration
from scenarios.checkup.base import Document, base_document, deployment

ROLLOUT_METRICS: Final = (
    "rebalances",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "worst_downtime_ms",
    "time_to_converge_ms",
    "cross_rack_source_partitions",
)
"""Metrics of a rollout."""


def simulate_streams_rollout(
    settings: StreamsSettings,
    setting: StreamsSetting,
    before: ReportCard,
    after: ReportCard,
    run_requests: RunRequests,
    seeds: Sequence[int],
) -> Rollout:
    """Simulate the rollout of a setting from the current state, if the simulation can change it during a run.

    Args:
        settings: the settings of the scenario.
        setting: the setting to roll out.
        before: report card of the current setting.
        after: report card of the setting.
        run_requests: runs situations.
        seeds: the seeds; further ones follow up to `SEEDS`.

    Returns:
        How to roll out, the predicted figures, and how to verify it.
    """
    values: dict[str, list[float]] = {}
    note = "Not simulated: another assignor, or the config of a streams group, cannot take effect during a run."
    if _can_change_in_a_run(settings, setting):
        request = rollout_request(settings.scenario, rollout_document(settings, setting), rollout_seeds(seeds))
        [answer] = run_requests([request])
        if not isinstance(answer, str):
            rows = [run.metrics for run in answer]
            values = dict(known_values(ROLLOUT_METRICS, rows))
            left_out = " without group.instance.id" * setting.is_static + " without LEAVE_GROUP" * setting.leaves_group
            note = f"Simulated from the current state as a rolling restart{left_out}, with {len(rows)} seeds."
            if len(rows) > 1:
                note += " Ranges: any member can lead while old and new configs are mixed, and its configs count."
    return build_rollout(note, _steps(settings, setting, values), _checks(before, after, values), values)


def rollout_document(settings: StreamsSettings, setting: StreamsSetting) -> Document:
    """Return the scenario in which the clients restart one after another with a setting, from the current state."""
    scenario = settings.scenario
    base = base_document(scenario, is_running=True)
    names = [client["name"] for client in base["clients"]]
    space = settings.space
    before, after = space.values(space.today), space.values(setting.candidate)
    configs = {key: value for key, value in after.items() if key != ASSIGNOR and value not in (None, before[key])}
    if setting.has_zone_tags:
        configs[TAGS] = [ZONE]
        for client in base["clients"]:
            set_zone_tag(client)  # Without the config, tags have no effect.
    own = deployment(scenario)
    restart: Document = {"down": "30s", "pause": "1m"}
    if own is not None and "rolling_bounce" in own:
        restart = dict(own["rolling_bounce"])
    restart |= {"clients": names, "configs": configs}
    if setting.has_client_rack:
        restart["client_rack"] = True
    situation = {**base, "events": [{"at": START, "rolling_bounce": restart}], "duration": f"{HOURS}h"}
    return settings.document(situation, settings.today)


def _can_change_in_a_run(settings: StreamsSettings, setting: StreamsSetting) -> bool:
    """Return whether a rolling restart of the simulation can change to a setting: all but assignor and membership."""
    today = settings.space.values(settings.space.today)
    is_same = settings.space.values(setting.candidate)[ASSIGNOR] == today[ASSIGNOR]
    return is_same and not settings.assignor.info.in_streams_groups


def _steps(settings: StreamsSettings, setting: StreamsSetting, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the steps of a rollout, in order."""
    changed = {settings.space.dimensions[index].name for index in settings.space.changed(setting.candidate)}
    values = settings.space.values(setting.candidate)
    more_standbys = STANDBYS in changed and values[STANDBYS] > settings.space.values(settings.space.today)[STANDBYS]
    if more_standbys:
        yield "Check the free disk of each instance: every standby is a further copy of the state of its task."
    if settings.assignor.info.in_streams_groups:
        yield "Change the group's config with the command above; no instance has to restart."
        return
    if setting.has_client_rack:
        yield "Set client.rack on every instance in the same deployment: without it, the strategy has no effect."
    if ASSIGNOR in changed:
        yield "Deploy to all instances without a long pause: the assignor of the group leader counts, whichever it is."
    if setting.is_static:
        yield "Give each instance a group.instance.id that no other has; a duplicate is fenced and stops."
        yield "While static, an instance that is gone for good keeps its tasks until session.timeout.ms is over."
    if setting.leaves_group:
        yield "Close with LEAVE_GROUP only on deployments and scale-in; it starts a rebalance at once."
    yield "Deploy outside the daily peak, one instance at a time, and wait until all tasks run before the next."
    if "rebalances" in metrics:
        parts = [f"{format_range(metrics['rebalances'], format_count)} rebalances"]
        parts += [f"{format_range(metrics['active_moves'], format_count)} moves"]
        parts += [f"{format_range(metrics['restored_bytes'], format_bytes)} of restored state"]
        parts += [f"no task down for more than {format_duration(max(metrics['worst_downtime_ms']))} in total"]
        if "time_to_converge_ms" in metrics:
            parts.append(f"converged after {format_range(metrics['time_to_converge_ms'], format_duration)}")
        yield f"Expect: {', '.join(parts)}."
    if {WARMUPS, PROBING, STRATEGY} & changed or more_standbys:
        yield "To go back, deploy the old properties in the same way."


def _checks(before: ReportCard, after: ReportCard, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield how to verify a rollout."""
    if "cross_rack_source_partitions" in metrics:
        count = format_range(metrics["cross_rack_source_partitions"], format_count)
        yield f"{count} source partitions are read across racks."
    yield from grade_checks(before, after, "application")
