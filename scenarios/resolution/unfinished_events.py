"""Events that the run is too short for: what is warned about, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.sampling.autoscaling import AutoscalePlan
from scenarios.sampling.event_plans import CrashPlan, PlannedEvent, RollingBouncePlan
from simulator.world.disturbances import BrokerBounce, BrokerLoss, Crash, Join, Leave, RackOutage


def warn_about_unfinished_events(
    located: Iterable[tuple[ScenarioPath, PlannedEvent | AutoscalePlan]], duration_ms: int, source_map: SourceMap
) -> None:
    """Warn of events that have not ended when the run does: some of their changes never happen.

    Args:
        located: the events, and where the scenario says them.
        duration_ms: when the run ends.
        places: takes the warnings.
    """
    for path, event in located:
        match event:
            case Crash(down_ms=int(down)) | CrashPlan(down_ms=int(down)) | RackOutage(down_ms=int(down)):
                _check_return(path, event.at_ms + down, duration_ms, source_map)
            case BrokerLoss(down_ms=int(down)):
                _check_return(path, event.at_ms + down, duration_ms, source_map)
            case Join(clients=clients, every_ms=every) | Leave(clients=clients, every_ms=every):
                moments = [event.at_ms + i * every for i in range(len(clients))]
                what = "join" if isinstance(event, Join) else "leave"
                _check_all((*path, "every"), moments, f"clients {what}", duration_ms, source_map)
            case RollingBouncePlan(clients=clients, down_ms=down, pause_ms=pause):
                moments = [event.at_ms + down + i * (down + pause) for i in range(len(clients))]
                _check_all(path, moments, "clients have restarted", duration_ms, source_map)
            case BrokerBounce(brokers=brokers, down_ms=down, pause_ms=pause):
                moments = [event.at_ms + down + i * (down + pause) for i in range(len(brokers))]
                _check_all(path, moments, "brokers have restarted", duration_ms, source_map)


def _check_return(path: ScenarioPath, back_ms: int, duration_ms: int, source_map: SourceMap) -> None:
    if back_ms >= duration_ms:
        back, end = format_duration(back_ms), format_duration(duration_ms)
        advice = f"set duration to more than {back}, or leave out down to keep it down"
        source_map.add_warning(
            (*path, "down"), f"the return, at {back}, is not before the end of the run ({end}): {advice}"
        )


def _check_all(path: ScenarioPath, moments: list[int], what: str, duration_ms: int, source_map: SourceMap) -> None:
    done = sum(at_ms < duration_ms for at_ms in moments)
    if done < len(moments):
        last, end = format_duration(moments[-1]), format_duration(duration_ms)
        advice = f"the last one would at {last}: set duration to more than that, or shorten the event"
        source_map.add_warning(path, f"only {done:,} of {len(moments):,} {what} before the run ends at {end}; {advice}")
