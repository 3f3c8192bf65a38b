"""Rebuild, recompute and replay the rebalances of a past night, of Kafka Streams or of a consumer group."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from assignors.consumer_tasks import ConsumerTasks
from assignors.model.assignment import TaskAssignor
from assignors.model.consumer_group import ConsumerAssignor
from assignors.model.ids import TaskId, TopicPartition
from reports.analysis.incident import (
    IncidentCause,
    IncidentDifference,
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
    timestamp,
)
from scenarios.kafka.incident.causes import rebalance_causes
from scenarios.kafka.incident.consumer_night import (
    ObservedConsumerNight,
    RecomputedPartitions,
    compare_partitions,
    find_recorded_assignor,
    observe_consumer_night,
    recompute_partitions,
)
from scenarios.kafka.incident.folder import IncidentFiles, read_incident
from scenarios.kafka.incident.night import NightOptions, ObservedNight, observe_night
from scenarios.kafka.incident.recomputation import (
    OffsetInfluence,
    ProcessNames,
    Recomputed,
    RecomputedTarget,
    RecordedCopies,
    StateBuilder,
    StateMetrics,
    explain_moves,
    measure_assignment,
    recompute,
    recompute_target,
    with_reported,
)
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedRebalance
from scenarios.kafka.observation.consumer_scenario_writer import (
    ReportedAssignor,
    consumer_assumptions,
    consumer_scenario_text,
    consumer_warnings,
)
from scenarios.kafka.observation.observation import ObservationError, client_names
from scenarios.kafka.observation.releases import simulated_coordinator_release
from scenarios.kafka.observation.scenario_writer import list_assumptions, scenario_text
from scenarios.language.releases import UnknownReleaseError, parse_release, reports_task_offsets
from scenarios.load import AssignorSpec, Scenario, loads
from scenarios.run import run
from simulator.results.tabulation import tabulate


@dataclass(frozen=True, slots=True)
class IncidentOptions:
    """What to investigate, and what the files lack.

    Attributes:
        since_ms: Start of the window since 1970; None for the first record.
        until_ms: End of the window; None for the last record.
        configs: Configs of the application or the consumers, and of the brokers.
        racks: Racks of clients that report none, as pairs (pattern of client ids, rack).
        kafka: Kafka release of the clients, or of the brokers if they assign; None for the newest.
        assignors: Other assignors.
        changes: Other settings, as pairs of a path in the scenario and its value, each by itself.
        default_assignors: Assignors for a classic group of Kafka Streams if there are neither other assignors nor other
            settings; the one of the night is left out. A consumer group has defaults of its own; none if this is empty.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    racks: Sequence[tuple[str, str | None]] = ()
    kafka: str | None = None
    assignors: Sequence[str] = ()
    changes: Sequence[tuple[str, str]] = ()
    default_assignors: Sequence[str] = ()


SCENARIO_NAME: Final = "the recorded night"
NIGHT_METRICS: Final = ("rebalances", "active_moves", "restored_bytes", "worst_downtime_ms", "downtime_ms")
MAX_NIGHT_MS: Final = 7 * 86_400_000
"""Longest time that is simulated."""


def replay_night(
    scenario: Scenario,
    report: IncidentReport,
    assignors: Sequence[tuple[str, AssignorSpec]],
    changes: Sequence[tuple[str, str]],
    *,
    has_sizes: bool,
) -> Iterator[WhatIf]:
    """Yield the recorded figures, and simulations of the recorded events: unchanged, and with each change.

    Args:
        scenario: The events.
        report: What was recorded.
        assignors: Other assignors, with their names.
        changes: Paths of the scenario, and the values to set.
        has_sizes: Whether sizes of topics are known, so that restored bytes are, too.

    Raises:
        ScenarioError: A change is invalid.
    """
    recorded = {"rebalances": float(len(report.later)), "active_moves": float(report.num_moves())}
    yield WhatIf("recorded", "night", {**dict.fromkeys(NIGHT_METRICS), **recorded})
    if report.until_ms - report.since_ms > MAX_NIGHT_MS:
        yield WhatIf("simulation", "night", {}, "longer than 7 days; select a part with --since and --until")
        return
    yield _simulate("simulated, unchanged", scenario, scenario.assignors[0], has_sizes=has_sizes)
    for label, spec in assignors:
        yield _simulate(label, scenario, spec, has_sizes=has_sizes)
    for path, value in changes:
        changed = loads(scenario.text, SCENARIO_NAME, [(path, value)])
        yield _simulate(f"{path}={value}", changed, changed.assignors[0], has_sizes=has_sizes)


def _simulate(label: str, scenario: Scenario, spec: AssignorSpec, *, has_sizes: bool) -> WhatIf:
    """Return the figures of a simulated night, or why there are none."""
    trace = run(scenario, spec)
    if trace.failure is not None:
        return WhatIf(label, "night", {}, str(trace.failure))
    [row] = tabulate(trace, spec.label, scenario.seeds[0])["runs"].to_pylist()
    figures = {key: row.get(key) for key in NIGHT_METRICS}
    if not has_sizes:
        figures["restored_bytes"] = None
    return WhatIf(label, "night", figures)


_DEFAULT_ASSIGNORS: Final = {"classic": ("range", "cooperative-sticky"), "consumer": ("uniform", "broker-range")}
"""Assignors that a page compares by default, by protocol, except for the one of the night."""


def investigate_consumers(
    files: IncidentFiles, window: RecordedGroup, options: IncidentOptions, on_progress: Callable[[str], None]
) -> tuple[IncidentReport, str]:
    """Recompute the rebalances of a consumer group, and replay them with other assignors and settings.

    Args:
        files: What the folder has about the group.
        window: The rebalances to investigate.
        options: What to investigate.
        on_progress: Is called with each step.

    Returns:
        The report, and the recorded events as a scenario.

    Raises:
        ObservationError: A stated config is malformed.
        ScenarioError: A change is invalid.
        UnknownAssignorError: An assignor is unknown.
    """
    night = observe_consumer_night(window, files.dumps, NightOptions(options.configs, options.racks, options.kafka))
    text = consumer_scenario_text(night.observation, night.history)
    scenario = loads(text, SCENARIO_NAME)
    investigation = _ConsumerInvestigation(files.group, window, night, scenario, options)
    on_progress("recomputing the assignments")
    rebalances = tuple(investigation.rebalances())
    report = IncidentReport(
        group=window.group,
        protocol=window.protocol,
        assignor=" then ".join(dict.fromkeys(map(investigation.assignor_name, window.rebalances))),
        num_tasks=len(rebalances[-1].owners),
        rebalances=rebalances,
        what_ifs=(),
        read=files.read,
        remarks=(
            *window.remarks,
            *_not_recomputed(rebalances, window),
            *consumer_warnings(night.observation),
            *consumer_assumptions(night.observation),
        ),
        is_consumer_group=True,
    )
    on_progress("replaying the night")
    return report.with_what_ifs((*investigation.on_states(report), *investigation.on_events(report))), text


def _not_recomputed(rebalances: Sequence[IncidentRebalance], window: RecordedGroup) -> Iterator[str]:
    recorded = zip(rebalances, window.rebalances, strict=True)
    names = dict.fromkeys(rebalance.assignor for compared, rebalance in recorded if not compared.is_compared)
    if names:
        yield f"Assignments of {', '.join(names)} are not recomputed: Kafka, or its release, has no such assignor."


def _restarted_clients(report: IncidentReport) -> set[str]:
    """Return the clients that restarted after the first rebalance, with or without the same process id."""
    causes = (cause for rebalance in report.later for cause in rebalance.causes)
    return {cause.client for cause in causes if cause.kind in ("restarted", "returned") and cause.client is not None}


class _ConsumerInvestigation:
    """Recomputes and replays one night of a consumer group."""

    def __init__(
        self,
        group: RecordedGroup,
        window: RecordedGroup,
        night: ObservedConsumerNight,
        scenario: Scenario,
        options: IncidentOptions,
    ) -> None:
        self._window = window
        self._night = night
        self._scenario = scenario
        self._options = options
        self._names = {
            member.process_id: member.client_id for rebalance in group.rebalances for member in rebalance.members
        }
        self._owners: dict[int, dict[str, str]] = {}

    def assignor_name(self, rebalance: RecordedRebalance) -> str:
        """Return the name of the assignor of a rebalance as in scenarios; that of a custom one as recorded."""
        reported = ReportedAssignor(self._window.protocol, rebalance.assignor, {})
        return reported.name if reported.is_kafkas else rebalance.assignor

    def rebalances(self) -> Iterator[IncidentRebalance]:
        """Yield the rebalances of the window with causes, moves, and the comparison with the assignor's answer."""
        owners: dict[str, str] = {}
        causes = rebalance_causes(self._window)
        for position, (rebalance, own_causes) in enumerate(zip(self._window.rebalances, causes, strict=True)):
            self._owners[rebalance.number] = dict(owners)
            active = rebalance.active()
            members = {member.process_id for member in rebalance.members}
            recomputed = self._recompute(rebalance)
            yield IncidentRebalance(
                number=rebalance.number,
                at_ms=rebalance.at_ms,
                causes=tuple(IncidentCause(cause.kind, cause.client, cause.text) for cause in own_causes),
                stated=rebalance.stated_causes,
                clients=tuple(self._names[process] for process in rebalance.by_process()),
                threads=len(rebalance.members),
                moves=tuple(self._moves(owners, active, members)) if position else (),
                owners={name: self._names[active[name]] for name in sorted(active, key=TopicPartition.parse)},
                standbys={},
                new_standbys=None,
                stable_at_ms=rebalance.stable_at_ms,
                is_compared=recomputed is not None,
                differences=tuple(self._differences(rebalance, recomputed)),
                lags="unused",
            )
            owners.update(active)

    def _moves(self, owners: Mapping[str, str], active: Mapping[str, str], members: set[str]) -> Iterator[IncidentMove]:
        for name in sorted(active, key=TopicPartition.parse):
            source, target = owners.get(name), active[name]
            if source != target:
                had_left = source is not None and source not in members
                yield IncidentMove(name, None if source is None else self._names[source], self._names[target], had_left)

    def _recompute(self, rebalance: RecordedRebalance) -> RecomputedPartitions | None:
        """Return the assignor's answer; None if the assignor is not Kafka's."""
        release = self._options.kafka
        if self._window.protocol == "consumer":
            release = simulated_coordinator_release(self._night.observation)
        assignor = find_recorded_assignor(rebalance.assignor, self._window.protocol, release)
        if assignor is None:
            return None
        return recompute_partitions(rebalance, self._night.states.recorded(rebalance), assignor)

    def _differences(
        self, rebalance: RecordedRebalance, recomputed: RecomputedPartitions | None
    ) -> Iterator[IncidentDifference]:
        if recomputed is None:
            return
        for mismatch in compare_partitions(rebalance, recomputed):
            recorded, answers = (
                tuple(self._names[process] for process in processes)
                for processes in (mismatch.recorded, mismatch.recomputed)
            )
            yield IncidentDifference(
                mismatch.task, mismatch.role, recorded, answers, recomputed.error or self._reason(rebalance)
            )

    def _reason(self, rebalance: RecordedRebalance) -> str:
        """Return what is unknown, so that the assignor may have decided otherwise."""
        if self._window.protocol == "consumer":
            return "the release of the brokers may differ, or records before this one are missing; state --kafka"
        if any(member.rack for member in rebalance.members):
            return "the assignor used racks: add the output of kafka-topics.sh and kafka-broker-api-versions.sh"
        return "the release of the clients may differ, or the leader knew other partitions; state --kafka"

    def on_states(self, report: IncidentReport) -> Iterator[WhatIf]:
        """Yield what the assignors do with each recorded state by itself; the recorded assignments come first."""
        variants = list(self._other_assignors())
        if not variants:
            return
        yield _partitions_on_states("recorded", {rebalance.number: len(rebalance.moves) for rebalance in report.later})
        for label, spec in variants:
            made = spec.make()
            if isinstance(made, ConsumerTasks):
                yield self._on_states(label, made.assignor)

    def _on_states(self, label: str, assignor: ConsumerAssignor) -> WhatIf:
        moves: dict[int, int] = {}
        for before, rebalance in pairwise(self._window.rebalances):
            state = self._night.states.with_owned(rebalance, before)
            answer = recompute_partitions(rebalance, state, assignor)
            if answer.error is not None:
                return WhatIf(label, "states", {}, answer.error)
            owners = self._owners[rebalance.number]
            moves[rebalance.number] = sum(owners.get(name) != client for name, client in answer.owners().items())
        return _partitions_on_states(label, moves)

    def _other_assignors(self) -> Iterator[tuple[str, AssignorSpec]]:
        names: Sequence[str] = self._options.assignors
        if not names and not self._options.changes and self._options.default_assignors:
            names = _DEFAULT_ASSIGNORS[self._window.protocol]
        own = () if self._options.assignors else (self._scenario.assignors[0].label,)
        for spec in map(self._scenario.assignor_spec, names):
            if spec.label not in own:
                yield spec.label, spec

    def on_events(self, report: IncidentReport) -> Iterator[WhatIf]:
        """Yield the recorded figures, and simulations of the recorded events: unchanged, and with each change."""
        changes = self._options.changes or self._default_changes(report)
        others = list(self._other_assignors())
        return replay_night(self._scenario, report, others, changes, has_sizes=False)

    def _default_changes(self, report: IncidentReport) -> list[tuple[str, str]]:
        """Return static membership of each dynamic consumer that restarted."""
        static = {
            member.client_id
            for rebalance in self._window.rebalances
            for member in rebalance.members
            if member.instance_id is not None
        }
        restarted = _restarted_clients(report)
        return [(f"consumers[0].clients[{name}].static_membership", "true") for name in sorted(restarted - static)]


def _partitions_on_states(label: str, moves: Mapping[int, int]) -> WhatIf:
    """Return the figures of all recorded states, and of each."""
    by_rebalance = {number: {"active_moves": float(count)} for number, count in moves.items()}
    figures = {"rebalances": float(len(moves)), "active_moves": float(sum(moves.values()))}
    return WhatIf(label, "states", figures, by_rebalance=by_rebalance)


@dataclass(frozen=True, slots=True, eq=False)
class InvestigatedIncident:
    """The result of an investigation.

    Attributes:
        report: The report.
        scenario: The recorded events as a scenario, in YAML.
    """

    report: IncidentReport
    scenario: str


def investigate(
    folder: str | os.PathLike[str],
    group: str,
    options: IncidentOptions | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> InvestigatedIncident:
    """Rebuild the rebalances of a past night, recompute them, and replay them with other assignors and settings.

    Args:
        folder: folder with segments of `__consumer_offsets`, output of Kafka's tools, and logs of the application.
        group: the group, which is the application.id of an application.
        options: what to investigate.
        on_progress: is called with each step.

    Returns:
        The report.

    Raises:
        ObservationError: a file is damaged, or the group is not recorded.
        ScenarioError: a change is invalid.
        UnknownAssignorError: an assignor is unknown.
    """
    options = options or IncidentOptions()
    if options.kafka is not None:
        try:
            parse_release(options.kafka)
        except UnknownReleaseError as error:
            raise ObservationError(f"--kafka: {error}") from None
    on_progress("reading records and logs")
    threads = options.configs.get("num.stream.threads", "")
    files = read_incident(Path(folder), group, options.kafka, int(threads) if threads.isdecimal() else None)
    window = _within(files.group, options)
    if window.has_consumers:
        report, text = investigate_consumers(files, window, options, on_progress)
        return InvestigatedIncident(report, text)
    night = observe_night(window, files.dumps, NightOptions(options.configs, options.racks, options.kafka))
    text = scenario_text(night.observation, night.history)
    scenario = loads(text, SCENARIO_NAME)
    investigation = _Investigation(files.group, window, night, scenario, options)
    on_progress("recomputing the assignments")
    rebalances = tuple(investigation.rebalances())
    report = IncidentReport(
        group=group,
        protocol=window.protocol,
        assignor=scenario.assignors[0].label,
        num_tasks=len(rebalances[-1].owners),
        rebalances=rebalances,
        what_ifs=(),
        read=files.read,
        remarks=(*window.remarks, *list_assumptions(night.observation)),
    )
    on_progress("replaying the night")
    what_ifs = (*investigation.on_states(), *investigation.on_events(report))
    return InvestigatedIncident(replace(report, what_ifs=what_ifs), text)


def _within(group: RecordedGroup, options: IncidentOptions) -> RecordedGroup:
    """Return the rebalances with members in the window, and the last one before it, from which it starts.

    Raises:
        ObservationError: The window has none.
    """
    with_members = [rebalance for rebalance in group.rebalances if rebalance.members]
    until = [r for r in with_members if options.until_ms is None or r.at_ms <= options.until_ms]
    before = [r for r in until if options.since_ms is not None and r.at_ms < options.since_ms]
    selected = until[max(0, len(before) - 1) :]
    if not selected or (options.since_ms is not None and selected[-1].at_ms < options.since_ms):
        first, last = (timestamp(with_members[i].at_ms) if with_members else "none" for i in (0, -1))
        raise ObservationError(
            f"no rebalance of '{group.group}' in the given time; the recorded ones are from {first} to {last} UTC"
        )
    return replace(group, rebalances=tuple(selected))


class _Investigation:
    """Recomputes and replays one night."""

    def __init__(
        self,
        group: RecordedGroup,
        window: RecordedGroup,
        night: ObservedNight,
        scenario: Scenario,
        options: IncidentOptions,
    ) -> None:
        self._window = window
        self._group = group
        self._night = night
        self._scenario = scenario
        self._options = options
        processes = [*night.observation.processes, *night.history.newcomers]
        names = client_names(processes)
        self._clients = ProcessNames(
            {process.process_id: names[process.process_id] for process in processes},
            {process.process_id: max(1, len(process.threads)) for process in processes},
        )
        release = parse_release(options.kafka or night.observation.broker_release or "4.4")
        self._reports_offsets = window.protocol == "streams" and reports_task_offsets(release)
        self._copies = RecordedCopies(group.stateful)
        self._recomputed: dict[int, Recomputed] = {}
        self._owners: dict[int, dict[str, str]] = {}

    def rebalances(self) -> Iterator[IncidentRebalance]:
        """Yield the rebalances of the window with causes, moves, and the comparison with the assignor's answer."""
        spec = self._scenario.assignors[0]
        assignor = spec.make()
        states = self._builder(spec)
        owners: dict[str, str] = {}
        held: dict[str, tuple[str, ...]] = {}
        before: RecordedRebalance | None = None
        causes = rebalance_causes(self._window)
        for rebalance, own_causes in zip(self._window.rebalances, causes, strict=True):
            self._owners[rebalance.number] = dict(owners)
            target = self._recompute(rebalance, states, assignor)
            recomputed = self._recomputed[rebalance.number] = target.recomputed
            is_compared = self._group.has_records or before is not None
            differences = tuple(self._differences(rebalance, target)) if is_compared else ()
            steps = explain_moves(recomputed, before, assignor, spec.info.weights.traffic_cost, self._clients)
            active, standby = rebalance.active(), rebalance.standby()
            members = {member.process_id for member in rebalance.members}
            yield IncidentRebalance(
                number=rebalance.number,
                at_ms=rebalance.at_ms,
                causes=tuple(IncidentCause(cause.kind, cause.client, cause.text) for cause in own_causes),
                stated=rebalance.stated_causes,
                clients=tuple(self._clients.names[process] for process in rebalance.by_process()),
                threads=len(rebalance.members),
                moves=tuple(self._moves(owners, active, members, recomputed, steps)) if before else (),
                owners={task: self._clients.names[active[task]] for task in sorted(active, key=TaskId.parse)},
                standbys={task: self._names(standby[task]) for task in sorted(standby, key=TaskId.parse)},
                new_standbys=sum(
                    process not in held.get(task, ()) for task, processes in standby.items() for process in processes
                ),
                stable_at_ms=rebalance.stable_at_ms,
                is_compared=is_compared,
                differences=differences,
                lags="unused"
                if self._window.protocol == "streams"
                else "estimated"
                if rebalance.lags is None
                else "logged",
                unrecorded_offsets=str(target.influence),
            )
            owners.update(active)
            held, before = standby, rebalance

    def _builder(self, spec: AssignorSpec) -> StateBuilder:
        return StateBuilder(self._group, spec.configs, self._night.cluster)

    def _names(self, processes: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._clients.names.get(process, process) for process in processes)

    def _moves(
        self,
        owners: Mapping[str, str],
        active: Mapping[str, str],
        members: set[str],
        recomputed: Recomputed,
        steps: Mapping[str, tuple[Mapping[str, object], ...]],
    ) -> Iterator[IncidentMove]:
        for task in sorted(active, key=TaskId.parse):
            source, target = owners.get(task), active[task]
            if source == target:
                continue
            is_same = recomputed.active.get(task) == target
            yield IncidentMove(
                task,
                None if source is None else self._clients.names[source],
                self._clients.names[target],
                source is not None and source not in members,
                steps.get(task, ()) if is_same else (),
            )

    def _recompute(
        self, rebalance: RecordedRebalance, states: StateBuilder, assignor: TaskAssignor
    ) -> RecomputedTarget:
        """Return the assignor's answer; in a streams group of Kafka 4.4, with offsets that its clients may report."""
        possible = list(self._copies.possible(rebalance)) if self._reports_offsets else []
        self._copies.note(rebalance)
        return recompute_target(rebalance, states.build(rebalance), assignor, possible)

    def _differences(self, rebalance: RecordedRebalance, target: RecomputedTarget) -> Iterator[IncidentDifference]:
        recomputed = target.recomputed
        uncertain = set(recomputed.rebuilt.uncertain_lags)
        for mismatch in target.mismatches:
            yield IncidentDifference(
                mismatch.task,
                mismatch.role,
                self._names(mismatch.recorded),
                self._names(mismatch.recomputed),
                recomputed.error or self._reason(rebalance, target, mismatch.task in uncertain),
            )

    def _reason(self, rebalance: RecordedRebalance, target: RecomputedTarget, is_uncertain: bool) -> str:
        """Return what is unknown, so that the assignor may have decided otherwise."""
        if self._window.protocol == "streams":
            if target.influence is OffsetInfluence.UNKNOWN:
                return "the answer depends on task offsets that clients of Kafka 4.4 report and records do not have"
            return "the release of the brokers may differ; state it with --kafka"
        if not self._group.has_records:
            return "logs do not have what the members reported"
        if rebalance.lags is None and is_uncertain:
            return "its lag is estimated: records have no end offsets of changelogs"
        return "configs or racks may differ; state them with --config and --rack"

    def on_states(self) -> Iterator[WhatIf]:
        """Yield what the assignors do with each recorded state by itself; the recorded assignments come first."""
        variants = [*self._other_assignors(), *self._other_configs()]
        if not variants:
            return
        later = self._window.rebalances[1:]
        recorded: dict[int, StateMetrics] = {}
        for rebalance in later:
            probes = any(member.next_rebalance_at_ms for member in rebalance.members)
            state, owners = self._recomputed[rebalance.number].rebuilt.state, self._owners[rebalance.number]
            recorded[rebalance.number] = measure_assignment(
                state, owners, rebalance.active(), rebalance.standby(), probes=probes
            )
        yield _on_states("recorded", recorded)
        for label, spec in variants:
            yield self._on_states(label, spec.make(), self._builder(spec), later)

    def _on_states(
        self, label: str, assignor: TaskAssignor, states: StateBuilder, later: Sequence[RecordedRebalance]
    ) -> WhatIf:
        measured: dict[int, StateMetrics] = {}
        for rebalance in later:
            reported = self._recomputed[rebalance.number].rebuilt.state.thread_offsets
            answer = recompute(rebalance, with_reported(states.build(rebalance), reported), assignor)
            if answer.columns is None:
                return WhatIf(label, "states", {}, answer.error or "no assignment")
            probes = answer.columns.followup_rebalance_delay_ms is not None
            measured[rebalance.number] = measure_assignment(
                answer.rebuilt.state, self._owners[rebalance.number], answer.active, answer.standby, probes=probes
            )
        return _on_states(label, measured)

    def _other_assignors(self) -> list[tuple[str, AssignorSpec]]:
        names = self._options.assignors
        if not names and not self._options.changes and self._window.protocol == "classic":
            names = self._options.default_assignors
        specs = (self._scenario.assignor_spec(name) for name in names)
        own = () if self._options.assignors else (self._scenario.assignors[0].label,)
        return [(spec.label, spec) for spec in specs if spec.label not in own]

    def _other_configs(self) -> list[tuple[str, AssignorSpec]]:
        """Return the changes that assignors see, each with the assignor of the night."""
        variants = []
        for path, value in self._options.changes:
            changed = loads(self._scenario.text, SCENARIO_NAME, [(path, value)])
            if changed.assignment_configs != self._scenario.assignment_configs:
                variants.append((f"{path}={value}", changed.assignors[0]))
        return variants

    def on_events(self, report: IncidentReport) -> Iterator[WhatIf]:
        """Yield the recorded figures, and simulations of the recorded events: unchanged, and with each change."""
        changes = self._options.changes or self._default_changes(report)
        others = list(self._other_assignors())
        return replay_night(self._scenario, report, others, changes, has_sizes=self._night.has_sizes)

    def _default_changes(self, report: IncidentReport) -> list[tuple[str, str]]:
        """Return static membership of each client that restarted with its process id; none in a streams group."""
        if self._window.protocol == "streams":
            return []
        clients = _restarted_clients(report)
        known = set(self._clients.names.values())
        return [(f"clients[{name}].static_membership", "true") for name in sorted(clients & known)]


def _on_states(label: str, measured: Mapping[int, StateMetrics]) -> WhatIf:
    """Return the figures of all recorded states, and of each."""
    by_rebalance = {number: _state_figures(metrics) for number, metrics in measured.items()}
    total = _state_figures(sum(measured.values(), StateMetrics()))
    return WhatIf(label, "states", {"rebalances": float(len(measured)), **total}, by_rebalance=by_rebalance)


def _state_figures(metrics: StateMetrics) -> dict[str, float]:
    return {
        "active_moves": float(metrics.active_moves),
        "new_standbys": float(metrics.new_standbys),
        "follow_ups": float(metrics.follow_ups),
    }
