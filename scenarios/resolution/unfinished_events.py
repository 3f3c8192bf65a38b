"""Warnings about events for which the run is too short."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.sampling.autoscaling import AutoscalePlan
from scenarios.sampling.event_plans import BrokerUpgradePlan, CrashPlan, PlannedEvent, RollingBouncePlan
from simulator.pod_schedules import PodStart, PodStop, always, pod_schedule
from simulator.world.disturbances import BrokerBounce, BrokerLoss, Crash, Join, Leave, RackOutage
from simulator.world.pod_events import PodEvent


def warn_about_unfinished_events(
    located: Iterable[tuple[ScenarioPath, PlannedEvent | AutoscalePlan]], duration_ms: int, source_map: SourceMap
) -> None:
    """Warn about events that the end of the run cuts off.

    Args:
        located: the events with their paths in the scenario.
        duration_ms: the end of the run.
        source_map: collects the warnings.
    """
    for path, event in located:
        match event:
            case Crash(down_ms=int(down)) | CrashPlan(down_ms=int(down)) | RackOutage(down_ms=int(down)):
                _check_return(path, event.at_ms + down, duration_ms, source_map)
            case BrokerLoss(down_ms=int(down)):
                _check_return(path, event.at_ms + down, duration_ms, source_map)
            case Join(clients=clients, every_ms=every) | Leave(clients=clients, every_ms=every):
                times_ms = [event.at_ms + i * every for i in range(len(clients))]
                verb = "join" if isinstance(event, Join) else "leave"
                _check_all((*path, "every"), times_ms, f"clients {verb}", duration_ms, source_map)
            case RollingBouncePlan(clients=clients, pause_ms=pause, interval_ms=interval):
                times_ms = [event.at_ms - pause + i * interval for i in range(1, len(clients) + 1)]
                _check_all(path, times_ms, "clients have restarted", duration_ms, source_map)
            case PodEvent():
                steps = list(pod_schedule(event, always))
                starts_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStart))
                stops_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStop))
                label = "clients have started again" if starts_ms else "clients have been stopped"
                _check_all(path, starts_ms or stops_ms, label, duration_ms, source_map)
            case (
                BrokerBounce(brokers=brokers, down_ms=down, pause_ms=pause)
                | BrokerUpgradePlan(brokers=brokers, down_ms=down, pause_ms=pause)
            ):
                times_ms = [event.at_ms + down + i * (down + pause) for i in range(len(brokers))]
                _check_all(path, times_ms, "brokers have restarted", duration_ms, source_map)


def _check_return(path: ScenarioPath, back_ms: int, duration_ms: int, source_map: SourceMap) -> None:
    if back_ms >= duration_ms:
        back, end = format_duration(back_ms), format_duration(duration_ms)
        advice = f"set duration to more than {back}, or remove down for a permanent outage"
        source_map.add_warning(
            (*path, "down"), f"the return, at {back}, is not before the end of the run ({end}); {advice}"
        )


def _check_all(path: ScenarioPath, times_ms: list[int], label: str, duration_ms: int, source_map: SourceMap) -> None:
    count = sum(at_ms < duration_ms for at_ms in times_ms)
    if count < len(times_ms):
        last, end = format_duration(times_ms[-1]), format_duration(duration_ms)
        advice = f"the last is at {last}; set a longer duration, or shorten the event"
        source_map.add_warning(
            path, f"only {count:,} of {len(times_ms):,} {label} before the run ends at {end}; {advice}"
        )
