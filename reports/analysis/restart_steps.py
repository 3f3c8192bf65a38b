"""Changes to try for clients that restart, crash or close: known fixes, where the figures of a run call for them.

The figures are what stopped clients cost a run: waits for their sessions, and state that was lost with a disk.
"""

from __future__ import annotations

import re
import shlex
import statistics
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.metrics import is_relevant, least_relevant
from reports.analysis.text import listed
from simulator.plurals import counted


@dataclass(frozen=True, slots=True)
class NextStep:
    """A change to try.

    Attributes:
        change: the change, in words.
        reason: the figure that suggests it.
        overrides: the same change as paths and values, as in `--set`; empty if it depends on the scenario.
    """

    change: str
    reason: str
    overrides: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        """The step as a sentence, without options."""
        return f"Try {self.change}: {self.reason}."

    @property
    def options(self) -> str:
        """The options of the command line in one line, quoted for a shell; empty without overrides."""
        return " ".join(f"--set {shlex.quote(f'{path}={value}')}" for path, value in self.overrides)


_MIN_CRASH_SHARE: Final = 0.5
_MIN_CLOSE_SHARE: Final = 0.25
"""Smallest shares of waits in the worst downtime: a shorter session has a price, and leaving has none."""

_MIN_LOST_SHARE: Final = 0.1
"""Smallest share of lost state in the restored one for which a volume comes before other changes."""

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

_LONGEST_RESTART_MS: Final = 5 * 60_000
_SESSION_MS: Final = 45_000
_MAX_SESSIONS: Final = 2
"""Longest wait for a session, in session timeouts: a rebalance lasts longer than the session if members are slow."""
_TIMED_OUT: Final = ": session timed out"
_CLOSING: Final = re.compile(r" for ([\d.]+) s")
_STOP: Final = re.compile(r"(.+?) (goes down|is killed|closes|leaves)\b(.*)")
_START: Final = re.compile(r"(.+?) starts( with .*)?")

RunKey = tuple[str, str, int]
"""Scenario, assignor and seed."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """A client that stopped.

    Attributes:
        at_ms: when its process ended.
        is_close: whether it closed and could have left the group.
        loses_disk: whether its state was lost with its disk.
        start_ms: when it started again; None if it never did.
    """

    at_ms: int
    is_close: bool
    loses_disk: bool
    start_ms: int | None

    @property
    def restart_ms(self) -> int | None:
        """Time until it started again; None if it never did."""
        return None if self.start_ms is None else self.start_ms - self.at_ms


@dataclass(frozen=True, slots=True)
class _SessionWait:
    """The time for which a group waited for the session of a client that had stopped.

    Attributes:
        client: name of the client.
        stop: how it stopped.
        ended_ms: when the assignment without its session took effect.
        worst_task_ms: how long the task with the longest downtime was down in that time.
        rebalances: numbers of the rebalances in which the session ended, and in which the client joined again.
    """

    client: str
    stop: _Stop
    ended_ms: int
    worst_task_ms: int
    rebalances: frozenset[int]

    @property
    def is_closed_for_good(self) -> bool:
        """Whether the client closed, and did not start again soon."""
        restart_ms = self.stop.restart_ms
        return self.stop.is_close and (restart_ms is None or restart_ms > _LONGEST_RESTART_MS)

    @property
    def return_ms(self) -> int | None:
        """Time until the client restarted; None if it did not while the group waited."""
        return self.stop.restart_ms if self.stop.start_ms is not None and self.stop.start_ms < self.ended_ms else None


@dataclass(frozen=True, slots=True)
class RestartFigures:
    """The figures of one run.

    Attributes:
        worst_downtime_ms: downtime of the task with the longest downtime.
        waits: waits for sessions, by time.
        renamed: clients that get another name when they restart.
        lost_disks: clients that restarted without their state.
        has_unclean_stops: whether a client was killed and kept its disk, and so may have lost unflushed state.
        restored_bytes: restored state.
        restored_again_bytes: part of the state that the same client had held before and lost.
    """

    worst_downtime_ms: int
    waits: tuple[_SessionWait, ...] = ()
    renamed: frozenset[str] = field(default_factory=frozenset)
    lost_disks: int = 0
    has_unclean_stops: bool = False
    restored_bytes: int = 0
    restored_again_bytes: int = 0


def restart_figures(
    tables: Tables, renamed: Mapping[str, Collection[str]], sessions_ms: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], tuple[RestartFigures, ...]]:
    """Return the figures of each run, by scenario and assignor.

    `tables`: the tables `events`, `rounds` and `runs`; with `tasks` and `task_states`, the waits have downtimes.
    `renamed`: clients that get another name when they restart, by scenario. `sessions_ms`: session timeouts by scenario
    and assignor; Kafka's default for others.
    """
    if not {"events", "rounds"} <= set(tables):
        return {}
    events, rounds = _by_run(table_rows(tables, "events")), _by_run(table_rows(tables, "rounds"))
    figures: dict[tuple[str, str], list[RestartFigures]] = {}
    for run in table_rows(tables, "runs"):
        key = run["scenario"], run["assignor"], run["seed"]
        stops = _stops(events.get(key, ()))
        waits = tuple(_waits(key, stops, rounds.get(key, ()), tables, sessions_ms.get(key[:2], _SESSION_MS)))
        found = _figures(run, stops, waits, renamed.get(key[0], ()))
        figures.setdefault(key[:2], []).append(found)
    return {key: tuple(runs) for key, runs in figures.items()}


def _median(values: Iterable[int]) -> int:
    """Return the median over runs; of an even number, the lower one in the middle."""
    return statistics.median_low(list(values) or [0])


def _by_run(rows: Iterable[Mapping[str, Any]]) -> dict[RunKey, list[Mapping[str, Any]]]:
    by_run: dict[RunKey, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_run.setdefault((row["scenario"], row["assignor"], row["seed"]), []).append(row)
    return by_run


def _stops(events: Iterable[Mapping[str, Any]]) -> dict[str, list[_Stop]]:
    """Return how each client stopped, by time; source of the texts: `simulator.world.changes.ClientDown`."""
    starts: dict[str, list[int]] = {}
    drafts: list[tuple[str, int, str, str]] = []
    for row in sorted(events, key=lambda row: row["at_ms"]):
        if started := _START.fullmatch(str(row["event"])):
            starts.setdefault(started[1], []).append(row["at_ms"])
        elif stopped := _STOP.fullmatch(str(row["event"])):
            closing = _CLOSING.search(stopped[3])
            at_ms = row["at_ms"] + round(1000 * float(closing[1]) if closing else 0)
            drafts.append((stopped[1], at_ms, stopped[2], stopped[3]))
    stops: dict[str, list[_Stop]] = {}
    for client, at_ms, verb, rest in drafts:
        own = starts.get(client, [])
        position = bisect_left(own, at_ms)
        start_ms = own[position] if position < len(own) else None
        stop = _Stop(at_ms, verb in {"closes", "leaves"}, "its state is lost" in rest, start_ms)
        stops.setdefault(client, []).append(stop)
    return stops


def _figures(
    run: Mapping[str, Any],
    stops: Mapping[str, Sequence[_Stop]],
    waits: tuple[_SessionWait, ...],
    renamed: Collection[str],
) -> RestartFigures:
    all_stops = [stop for own in stops.values() for stop in own]
    return RestartFigures(
        worst_downtime_ms=run["worst_downtime_ms"] or 0,
        waits=waits,
        renamed=frozenset(renamed),
        lost_disks=sum(stop.loses_disk and stop.start_ms is not None for stop in all_stops),
        has_unclean_stops=any(not stop.is_close and not stop.loses_disk for stop in all_stops),
        restored_bytes=run["restored_bytes"] or 0,
        restored_again_bytes=run.get("restored_again_bytes") or 0,
    )


def _waits(
    key: RunKey,
    stops: Mapping[str, Sequence[_Stop]],
    rounds: Sequence[Mapping[str, Any]],
    tables: Tables,
    session_ms: int,
) -> Iterator[_SessionWait]:
    """Yield the waits for clients that an event stopped; an autoscaler stops pods without one.

    In streams groups, the sessions of a client's threads end one after another.
    """
    ended: dict[tuple[str, int], tuple[_Stop, list[Mapping[str, Any]]]] = {}
    for row in rounds:
        for client in (part.removesuffix(_TIMED_OUT) for part in _reasons(row) if part.endswith(_TIMED_OUT)):
            stop = _last(stops.get(client, ()), row["at_ms"])
            if stop is not None and row["at_ms"] - stop.at_ms <= _MAX_SESSIONS * session_ms:
                ended.setdefault((client, stop.at_ms), (stop, []))[1].append(row)
    downtimes = _worst_downtimes(key, tables, max((row["until_ms"] for row in rounds), default=0)) if ended else ()
    for (client, _), (stop, ends) in ended.items():
        joins = (row for row in rounds if f"{client} joined" in _reasons(row) and row["at_ms"] > (stop.start_ms or 0))
        join = None if stop.start_ms is None else next(joins, None)
        ended_ms = ends[-1]["at_ms"]
        waited_ms = sum(_overlap(down, (stop.at_ms, ended_ms)) for down in downtimes)
        of_stop = frozenset(row["round"] for row in (*ends, *([join] if join else ())))
        yield _SessionWait(client, stop, ended_ms, waited_ms, of_stop)


def _reasons(row: Mapping[str, Any]) -> list[str]:
    return str(row["reason"]).split(", ")


def _last(stops: Sequence[_Stop], before_ms: int) -> _Stop | None:
    return next((stop for stop in reversed(stops) if stop.at_ms <= before_ms), None)


def _worst_downtimes(key: RunKey, tables: Tables, end_ms: int) -> list[tuple[int, int]]:
    """Return when the task with the longest downtime was down."""
    import pyarrow.compute as pc

    if not {"tasks", "task_states"} <= set(tables):
        return []
    tasks, states = (_of_run(tables[name], key) for name in ("tasks", "task_states"))
    worst = max(tasks.to_pylist(), key=lambda row: row["downtime_ms"], default=None)
    if worst is None:
        return []
    of_task = states.filter(pc.equal(states["task"], worst["task"])).to_pylist()
    return list(_down_times(sorted(of_task, key=lambda row: row["at_ms"]), end_ms))


def _of_run(table: pa.Table, key: RunKey) -> pa.Table:
    import pyarrow.compute as pc

    for column, value in zip(("scenario", "assignor", "seed"), key, strict=True):
        table = table.filter(pc.equal(table[column], value))
    return table


def _down_times(states: Sequence[Mapping[str, Any]], end_ms: int) -> Iterator[tuple[int, int]]:
    for i, row in enumerate(states):
        if row["state"] != "running":
            yield row["at_ms"], states[i + 1]["at_ms"] if i + 1 < len(states) else end_ms


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> int:
    return max(0, min(first[1], second[1]) - max(first[0], second[0]))


def restart_steps(
    runs: Sequence[RestartFigures], group: Mapping[str, Any], protocol: str, standbys: int
) -> Iterator[NextStep]:
    """Yield the changes to try, most important first.

    `group`: the group's configs and members, from the manifest; empty without one. `protocol`: `classic`, `streams` or
    `consumer`. `standbys`: `num.standby.replicas`.
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
    if _median(map(len, by_run)) < _MIN_RESTARTS:
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
    rebalances = _median(len({number for wait in waits for number in wait.rebalances}) for waits in by_run)
    reason = f"{format_count(rebalances)} rebalances because sessions of restarting clients timed out"
    yield NextStep(change, reason, overrides)


def _leaving(runs: Sequence[RestartFigures], group: Mapping[str, Any], protocol: str) -> Iterator[NextStep]:
    """Yield leaving on close, if the group waits for clients that have closed for good."""
    pods = _median(sum(wait.client in run.renamed and wait.stop.is_close for wait in run.waits) for run in runs)
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
        _median(getattr(run, name) for run in runs) for name in ("restored_again_bytes", "restored_bytes", "lost_disks")
    )
    if disks and again >= max(_MIN_LOST_SHARE * restored, least_relevant("restored_bytes")):
        clients = counted(disks, "restart")
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
    gain_ms = _median(
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

    waits: tuple[_SessionWait, ...]
    waited_ms: int
    worst_ms: int

    @classmethod
    def of(
        cls, runs: Sequence[RestartFigures], concerns: Callable[[_SessionWait], bool], min_share: float
    ) -> _DominatingWaits | None:
        """Return the waits of a kind; None if they are a smaller share of the worst downtime."""
        by_run = [[wait for wait in run.waits if concerns(wait)] for run in runs]
        waited_ms = _median(sum(wait.worst_task_ms for wait in waits) for waits in by_run)
        worst_ms = _median(run.worst_downtime_ms for run in runs)
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
