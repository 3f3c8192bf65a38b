"""Changes to try for clients that restart, crash or close: known fixes, where the figures of a run call for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.metric import is_relevant, least_relevant
from reports.analysis.next_step import NextStep
from reports.analysis.restart_figures import RestartFigures, SessionWait, median_of
from reports.analysis.text import listed

_MIN_CRASH_SHARE: Final = 0.5
_MIN_CLOSE_SHARE: Final = 0.25
"""Smallest shares of waits in the worst downtime: a shorter session has a price, and leaving has none."""

_SHORT_SESSION_MS: Final = 15_000
_HEARTBEATS_PER_SESSION: Final = 3
"""Kafka recommends a heartbeat interval of at most a third of the session timeout (`ConsumerConfig`)."""

_SESSION_STEP_MS: Final = 15_000
_MIN_RESTARTS: Final = 2
_MAX_LONGER_SESSION: Final = 2
"""How much longer than now a session may be for restarts."""

_DEFAULT_SESSION_MS: Final = 45_000
_MAX_NAMES: Final = 3
_SESSION: Final = "session.timeout.ms"
_CONFIGS: Final = "application.configs"
_STATIC: Final = "clients[].static_membership: true"


def restart_steps(
    runs: Sequence[RestartFigures], group: Mapping[str, Any], protocol: str, standbys: int
) -> Iterator[NextStep]:
    """Yield the changes to try, most important first.

    Args:
        runs: the figures of each run with an assignor.
        group: the group's configs and members, from the manifest; empty in older results.
        protocol: `classic`, `streams` or `consumer`.
        standbys: `num.standby.replicas`.
    """
    if not runs:
        return
    yield from _volume(runs)
    static = list(_static_membership(runs, group)) if protocol == "classic" else []
    yield from static
    yield from _leaving(runs, group, protocol)
    if not static:
        yield from _shorter_session(runs, group, protocol, standbys)


def _static_membership(runs: Sequence[RestartFigures], group: Mapping[str, Any]) -> Iterator[NextStep]:
    """Yield static membership, with a session timeout for the longest restart, if sessions of restarts end.

    Tasks then wait for their client, so clients that are away for much longer than the session have not restarted.
    """
    session_ms, heartbeat_ms = group.get("session_timeout_ms", 0), group.get("heartbeat_interval_ms", 0)
    limit_ms = _MAX_LONGER_SESSION * (session_ms or _DEFAULT_SESSION_MS) - heartbeat_ms
    by_run = [
        [wait for wait in run.waits if wait.client not in run.renamed and (wait.stop.restart_ms or limit_ms) < limit_ms]
        for run in runs
    ]
    if median_of(map(len, by_run)) < _MIN_RESTARTS:
        return
    restarts = [wait for waits in by_run for wait in waits]
    longest_ms = max(wait.stop.restart_ms or 0 for wait in restarts)
    needed_ms = -(-(longest_ms + heartbeat_ms) // _SESSION_STEP_MS) * _SESSION_STEP_MS
    change, restart = f"static membership ({_STATIC})", f"the longest restart ({format_duration(longest_ms)})"
    overrides: tuple[tuple[str, str], ...] = ()
    if {wait.client for wait in restarts} <= set(group.get("static", ())):
        change = f"{_SESSION}: {_seconds(needed_ms)}, longer than {restart}"
        overrides = () if group.get("of_consumers") else ((f"{_CONFIGS}.{_SESSION}", _seconds(needed_ms)),)
    elif needed_ms > session_ms > 0:
        change = f"{change} with {_SESSION}: {_seconds(needed_ms)}, longer than {restart}"
    elif session_ms:
        change = f"{change}, as {_SESSION} ({format_duration(session_ms)}) is longer than {restart}"
    rebalances = median_of(len({number for wait in waits for number in wait.rebalances}) for waits in by_run)
    reason = f"{format_count(rebalances)} rebalances because sessions of restarting clients timed out"
    yield NextStep(change, reason, overrides)


def _leaving(runs: Sequence[RestartFigures], group: Mapping[str, Any], protocol: str) -> Iterator[NextStep]:
    """Yield leaving on close, if the group waits for clients that have closed for good."""
    pods = median_of(sum(wait.client in run.renamed and wait.stop.is_close for wait in run.waits) for run in runs)
    waits = _DominatingWaits.of(runs, lambda wait: wait.is_closed_for_good, _MIN_CLOSE_SHARE)
    if pods > 1:
        reason = f"the group waited for the sessions of {format_count(pods)} closed pods of a Deployment"
    elif waits is not None:
        reason = waits.describe("which had closed")
    else:
        return
    is_dynamic = waits is None or not set(waits.clients) & set(group.get("static", ()))
    if protocol == "classic" and group.get("has_leave_config") and is_dynamic and not group.get("of_consumers"):
        config = "internal.leave.group.on.close"
        yield NextStep(f"leaving the group on close ({config})", reason, ((f"{_CONFIGS}.{config}", "true"),))
    else:
        yield NextStep("leaving the group on close (CloseOptions; leaves_group: true of the event)", reason)


def _volume(runs: Sequence[RestartFigures]) -> Iterator[NextStep]:
    """Yield a persistent volume, if clients restored again what they had lost with their disks."""
    if any(run.has_unclean_stops for run in runs):
        return  # A kill loses state, too, and a volume does not save it.
    again, restored, disks = (
        median_of(getattr(run, name) for run in runs)
        for name in ("restored_again_bytes", "restored_bytes", "lost_disks")
    )
    if disks and is_relevant(again, restored, least_relevant("restored_bytes")):
        clients = "1 restart" if disks == 1 else f"{format_count(disks)} restarts"
        yield NextStep(
            "a persistent volume for state.dir, as of a StatefulSet (disk: kept or volume: zonal of the event)",
            f"{format_bytes(again)} of {format_bytes(restored)} restored state had been on the disk of a client before "
            f"({clients} with an empty disk)",
        )


def _shorter_session(
    runs: Sequence[RestartFigures], group: Mapping[str, Any], protocol: str, standbys: int
) -> Iterator[NextStep]:
    """Yield a shorter session timeout, if waits for crashed clients dominate the worst downtime.

    Tasks of a client that returns between the two timeouts would move away: to clients without their state, unless an
    assignor of classic groups finds standbys. A shorter timeout would also end the sessions of static members.
    """
    session_ms, heartbeat_ms = group.get("session_timeout_ms", 0), group.get("heartbeat_interval_ms", 0)
    short_ms = max(_SHORT_SESSION_MS, _HEARTBEATS_PER_SESSION * heartbeat_ms)
    waits = _DominatingWaits.of(runs, lambda wait: not wait.stop.is_close, _MIN_CRASH_SHARE)
    if waits is None or short_ms >= session_ms or group.get("static"):
        return
    gain_ms = median_of(
        sum(max(0, wait.worst_task_ms - short_ms) for wait in run.waits if not wait.stop.is_close) for run in runs
    )
    keeps_state = standbys and protocol == "classic"
    moves_away = not keeps_state and any(
        wait.return_ms is not None and wait.return_ms > short_ms for wait in waits.waits
    )
    if moves_away or not is_relevant(gain_ms, waits.worst_ms, least_relevant("worst_downtime_ms")):
        return
    key, minimum = _SESSION, f"group.min.{_SESSION}"
    overrides: tuple[tuple[str, str], ...] = ((f"{_CONFIGS}.{_SESSION}", _seconds(short_ms)),)
    if protocol != "classic":
        key, minimum = f"group.{protocol}.{_SESSION}", f"group.{protocol}.min.{_SESSION}"
        overrides = tuple((f"cluster.configs.{config}", _seconds(short_ms)) for config in (minimum, key))
    elif group.get("of_consumers"):
        overrides = ()
    heartbeats = f"{_HEARTBEATS_PER_SESSION} heartbeat intervals ({format_duration(heartbeat_ms)} each)"
    yield NextStep(
        f"a shorter {key}, not below {heartbeats} and {minimum}", waits.describe("which had crashed"), overrides
    )


@dataclass(frozen=True, slots=True)
class _DominatingWaits:
    """Waits for sessions that are a large share of the downtime of the worst task.

    Attributes:
        waits: the waits of all runs.
        waited_ms: downtime of the worst task in them, median over the runs.
        worst_ms: downtime of the worst task, median over the runs.
    """

    waits: tuple[SessionWait, ...]
    waited_ms: int
    worst_ms: int

    @classmethod
    def of(
        cls, runs: Sequence[RestartFigures], concerns: Callable[[SessionWait], bool], min_share: float
    ) -> _DominatingWaits | None:
        """Return the waits of a kind; None if they are a smaller share of the worst downtime."""
        by_run = [[wait for wait in run.waits if concerns(wait)] for run in runs]
        waited_ms = median_of(sum(wait.worst_task_ms for wait in waits) for waits in by_run)
        worst_ms = median_of(run.worst_downtime_ms for run in runs)
        if waited_ms < max(min_share * worst_ms, least_relevant("worst_downtime_ms")):
            return None
        return cls(tuple(wait for waits in by_run for wait in waits), waited_ms, worst_ms)

    @property
    def clients(self) -> list[str]:
        return list(dict.fromkeys(wait.client for wait in self.waits))

    def describe(self, why: str) -> str:
        """Return a clause with the downtime of the worst task, the clients and why the group waited for them."""
        names = self.clients
        more = [f"{format_count(len(names) - _MAX_NAMES)} more"] if len(names) > _MAX_NAMES else []
        return (
            f"in {format_duration(self.waited_ms)} of the {format_duration(self.worst_ms)} for which the worst task "
            f"was down, the group waited for the session of {listed([*names[:_MAX_NAMES], *more])}, {why}"
        )


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms // 1000}s"
