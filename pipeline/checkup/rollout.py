"""The rollout of a setting: simulated as a rolling restart from the current state, with steps and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from pipeline.checkup.runs import SituationRequest
from pipeline.checkup.search import RunRequests
from pipeline.checkup.settings import TAGS, ZONE, CheckupSettings, Setting, set_zone_tag
from pipeline.recommend.space import ASSIGNOR, PROBING, STANDBYS, STRATEGY, WARMUPS
from reports.analysis.checkup.areas import AREA
from reports.analysis.checkup.report import ReportCard, Rollout
from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.metrics import METRIC
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

_HOURS: Final = 24
_START: Final = "10m"


def simulate_rollout(
    settings: CheckupSettings,
    setting: Setting,
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
        seeds: the seeds.

    Returns:
        How to roll out, the predicted figures, and how to verify it.
    """
    metrics: dict[str, float] = {}
    note = "Not simulated: another assignor, or the config of a streams group, cannot take effect during a run."
    if _can_change_in_a_run(settings, setting):
        scenario = settings.scenario
        request = SituationRequest(
            "rollout",
            rollout_document(settings, setting),
            scenario.name,
            None if scenario.path is None else scenario.path.parent,
            _HOURS * 3_600_000,
            tuple(seeds),
        )
        [answer] = run_requests([request])
        if not isinstance(answer, str):
            metrics = dict(_means([run.metrics for run in answer]))
            left_out = " without group.instance.id" * setting.is_static + " without LEAVE_GROUP" * setting.leaves_group
            note = f"Simulated from the current state as a rolling restart{left_out}, means of {len(answer)} seeds."
    steps = tuple(_steps(settings, setting, metrics))
    return Rollout(note, steps, tuple(_checks(before, after, metrics)), metrics)


def rollout_document(settings: CheckupSettings, setting: Setting) -> Document:
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
    situation = {**base, "events": [{"at": _START, "rolling_bounce": restart}], "duration": f"{_HOURS}h"}
    return settings.document(situation, settings.today)


def _can_change_in_a_run(settings: CheckupSettings, setting: Setting) -> bool:
    """Return whether a rolling restart of the simulation can change to a setting: all but assignor and membership."""
    today = settings.space.values(settings.space.today)
    is_same = settings.space.values(setting.candidate)[ASSIGNOR] == today[ASSIGNOR]
    return is_same and not settings.assignor.info.in_streams_groups


def _means(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    for name in ROLLOUT_METRICS:
        values = [METRIC[name].of(row) for row in rows]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            yield name, float(np.mean(known))


def _steps(settings: CheckupSettings, setting: Setting, metrics: dict[str, float]) -> Iterator[str]:
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
    if metrics.get("rebalances") is not None:
        parts = [f"{format_count(metrics['rebalances'])} rebalances", f"{format_count(metrics['active_moves'])} moves"]
        parts += [f"{format_bytes(metrics['restored_bytes'])} of restored state"]
        parts += [f"no task down for more than {format_duration(metrics['worst_downtime_ms'])} in total"]
        if "time_to_converge_ms" in metrics:
            parts.append(f"converged after {format_duration(metrics['time_to_converge_ms'])}")
        yield f"Expect: {', '.join(parts)}."
    if {WARMUPS, PROBING, STRATEGY} & changed or more_standbys:
        yield "To go back, deploy the old properties in the same way."


def _checks(before: ReportCard, after: ReportCard, metrics: dict[str, float]) -> Iterator[str]:
    """Yield how to verify a rollout."""
    if "cross_rack_source_partitions" in metrics:
        yield f"{format_count(metrics['cross_rack_source_partitions'])} source partitions are read across racks."
    better = [
        (old, new)
        for old, new in zip(before.areas, after.areas, strict=True)
        if old.grade is not None and new.grade is not None and old.grade != new.grade
    ]
    if better:
        grades = ", ".join(f"{AREA[old.area].title} {old.grade} → {new.grade}" for old, new in better)
        yield f"Import the application again and repeat the checkup: {grades}."
