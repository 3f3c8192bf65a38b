"""Recompute and replay the rebalances of a past night of a consumer group without Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from assignor_sim.api.incident_options import IncidentOptions
from assignor_sim.api.simulated_night import SCENARIO_NAME, replay_night
from assignors.consumer_tasks import ConsumerTasks
from assignors.model.consumer_group import ConsumerAssignor
from assignors.model.ids import TopicPartition
from reports.analysis.incident import (
    IncidentCause,
    IncidentDifference,
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
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
from scenarios.kafka.incident.folder import IncidentFiles
from scenarios.kafka.incident.night import NightOptions
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedRebalance
from scenarios.kafka.observation.consumer_scenario_writer import (
    ReportedAssignor,
    consumer_assumptions,
    consumer_scenario_text,
    consumer_warnings,
)
from scenarios.kafka.observation.releases import simulated_coordinator_release
from scenarios.load import AssignorSpec, Scenario, loads

_RESTARTS: Final = ("restarted", "returned")
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
                owners={name: self._names[active[name]] for name in _in_order(active)},
                standbys={},
                new_standbys=None,
                stable_at_ms=rebalance.stable_at_ms,
                is_compared=recomputed is not None,
                differences=tuple(self._differences(rebalance, recomputed)),
                lags="unused",
            )
            owners.update(active)

    def _moves(self, owners: Mapping[str, str], active: Mapping[str, str], members: set[str]) -> Iterator[IncidentMove]:
        for name in _in_order(active):
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
        yield _on_states("recorded", {rebalance.number: len(rebalance.moves) for rebalance in report.later})
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
        return _on_states(label, moves)

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
        restarted = {
            cause.client
            for rebalance in report.later
            for cause in rebalance.causes
            if cause.kind in _RESTARTS and cause.client is not None
        }
        return [(f"consumers[0].clients[{name}].static_membership", "true") for name in sorted(restarted - static)]


def _on_states(label: str, moves: Mapping[int, int]) -> WhatIf:
    """Return the figures of all recorded states, and of each."""
    by_rebalance = {number: {"active_moves": float(count)} for number, count in moves.items()}
    figures = {"rebalances": float(len(moves)), "active_moves": float(sum(moves.values()))}
    return WhatIf(label, "states", figures, by_rebalance=by_rebalance)


def _in_order(partitions: Mapping[str, object]) -> list[str]:
    return sorted(partitions, key=TopicPartition.parse)
