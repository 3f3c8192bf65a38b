"""Comparison of a new assignment with the predicted one.

The assignment that a consumer group should have is computed from what its members reported.

Classic protocol: the coordinator returns what each member sent with its last request to join, and lists the members in
the order in which the leader got them. This is what the leader's assignor knew.

Consumer protocol (KIP-848): the coordinator computes a target from the previous one, which the poll before has seen.
A member whose first heartbeat triggers that is not in the coordinator's map yet, and comes last.

Source: `ConsumerCoordinator.onLeaderElected` of kafka-clients; `TargetAssignmentBuilder.build` and
`GroupMetadataManager.updateTargetAssignment` in `org.apache.kafka.coordinator.group`, Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from assignors.errors import AssignorError
from assignors.model.consumer_group import ConsumerAssignor, ConsumerGroupState, ConsumerMember
from scenarios.kafka.formats.topology import compile_pattern
from scenarios.kafka.observation.observation import GroupPhase, GroupSnapshot, SnapshotMember
from scenarios.watch.polls import ComparedPrediction, PredictionVerdict
from scenarios.watch.predicted_assignment import PredictedAssignment, find_differences
from scenarios.watch.prediction import predict_classic, predict_streams
from scenarios.watch.watched_application import WatchedApplication
from scenarios.watch.watched_consumers import WatchedConsumers
from scenarios.watch.watched_group import WatchedGroup

_MAX_ORDERS = 8
"""Limit of the orders of members that are tried."""


def predict_classic_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, snapshot: GroupSnapshot
) -> PredictedAssignment:
    """Compute the last assignment of a classic consumer group again.

    Returns the assignment, in which partitions are withheld that another member must revoke first.
    """
    return _predict(consumers, assignor, snapshot.members)


def predict_coordinated_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, before: GroupSnapshot, snapshot: GroupSnapshot
) -> Iterator[PredictedAssignment]:
    """Compute the target of a group of the consumer protocol from the previous one.

    Yields the target, for each possible order of the members: only one is known.
    """
    previous = {member.id: member for member in before.members}
    of_instance = {member.instance_id: member for member in before.members if member.instance_id}
    members = []
    for member in snapshot.members:
        # A static member that returns has a new id, and the target of its old one.
        held = previous.get(member.id) or of_instance.get(member.instance_id or "")
        members.append(replace(member, owned=() if held is None else held.owned))
    yield _predict(consumers, assignor, members)
    for new in [member for member in members if member.id not in previous][: _MAX_ORDERS - 1]:
        yield _predict(consumers, assignor, [*(member for member in members if member is not new), new])


def _predict(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, members: Sequence[SnapshotMember]
) -> PredictedAssignment:
    state = ConsumerGroupState.of((_reported(member, consumers) for member in members), consumers.topics)
    answer = assignor.assign(state)
    process_of = [member.process_id for member in members]
    return PredictedAssignment(
        tasks=consumers.task_names,
        active={
            str(state.topic_partition(key)): process
            for process, keys in zip(process_of, answer.partitions, strict=True)
            for key in keys
        },
        withheld=frozenset(str(state.topic_partition(key)) for key, _ in answer.withheld),
        may_wait=frozenset(),
        standby={},
    )


def _reported(member: SnapshotMember, consumers: WatchedConsumers) -> ConsumerMember:
    """Return what a member reported; it subscribes by pattern to the topics that match now."""
    pattern = None if member.pattern is None else compile_pattern(member.pattern)
    matching = [] if pattern is None else [topic.name for topic in consumers.topics if pattern.fullmatch(topic.name)]
    return ConsumerMember(
        member_id=member.id,
        topics=tuple(dict.fromkeys((*member.topics, *matching))),
        instance_id=member.instance_id,
        rack=member.rack,
        owned=member.owned,
        generation=member.generation,
        user_data_generation=member.user_data_generation,
    )


def compare_assignment(
    watched: WatchedGroup, snapshot: GroupSnapshot, last: GroupSnapshot | None, assigned: GroupSnapshot | None
) -> ComparedPrediction:
    """Compare a new assignment with the predicted one.

    `last`: the snapshot of the poll before; None at the first. `assigned`: the last snapshot with another assignment;
    None if there was none. The result is unknown if the prediction depends on what no poll has shown.
    """
    if snapshot.error_code:
        return unknown_prediction("the leader sent an error code")
    try:
        if isinstance(watched, WatchedConsumers):
            return _compare_consumers(watched, snapshot, assigned)
        assert isinstance(watched, WatchedApplication)
        if not snapshot.is_coordinated:
            return _compare_classic(watched, snapshot, {} if last is None else last.changelog_ends)
        if assigned is None or not _has_target(assigned, snapshot):
            return unknown_prediction("the target before it was not seen")
        return _compare_target([predict_streams(watched, assigned, snapshot)], snapshot, assigned)
    except AssignorError as error:
        return unknown_prediction(str(error))


def unknown_prediction(reason: str) -> ComparedPrediction:
    """Return that an assignment could not be compared, and why."""
    return ComparedPrediction(PredictionVerdict.UNKNOWN, None, reason=reason)


def _compare_consumers(
    watched: WatchedConsumers, snapshot: GroupSnapshot, assigned: GroupSnapshot | None
) -> ComparedPrediction:
    if watched.assignor is None:
        return unknown_prediction(f"assignor '{watched.assignor_name}' is not Kafka's")
    if _has_other_topics(watched, snapshot):
        return unknown_prediction("topics or partitions have changed since the group was stable")
    for member in snapshot.members:
        if member.pattern is not None and compile_pattern(member.pattern) is None:
            return unknown_prediction(f"the pattern of a subscription is too complex to match: {member.pattern}")
    if not snapshot.is_coordinated:
        return _closest([predict_classic_consumers(watched, watched.assignor, snapshot)], snapshot)
    if assigned is None or not _has_target(assigned, snapshot):
        return unknown_prediction("the target before it was not seen")
    predictions = predict_coordinated_consumers(watched, watched.assignor, assigned, snapshot)
    return _compare_target(predictions, snapshot, assigned)


def _compare_classic(
    application: WatchedApplication, snapshot: GroupSnapshot, earlier: Mapping[str, int]
) -> ComparedPrediction:
    """Compare with the end offsets after the assignment and, if that differs, with those before it."""
    stateful = [str(task.id) for task in application.tasks if task.is_stateful]
    if missing := [task for task in stateful if task not in snapshot.changelog_ends]:
        return unknown_prediction(f"the end offsets of the changelogs of {len(missing)} tasks are unknown")
    ends = (snapshot.changelog_ends, {**snapshot.changelog_ends, **earlier})
    return _closest((predict_classic(application, snapshot, of_poll) for of_poll in ends), snapshot)


def _has_target(before: GroupSnapshot, snapshot: GroupSnapshot) -> bool:
    return before.protocol == snapshot.protocol and before.epoch is not None and snapshot.epoch is not None


def _compare_target(
    predictions: Iterable[PredictedAssignment], snapshot: GroupSnapshot, before: GroupSnapshot
) -> ComparedPrediction:
    """Compare a target with predictions from that of an earlier poll, which need not be the previous one."""
    assert snapshot.epoch is not None
    assert before.epoch is not None
    compared = _closest(predictions, snapshot)
    passed = snapshot.epoch - before.epoch
    if compared.differences and passed != 1:
        return unknown_prediction(f"{passed} targets since the last poll; shorten the interval")
    if compared.differences and snapshot.has_outdated_target:
        return unknown_prediction("members have changed since the target was computed")
    return compared


def _closest(predictions: Iterable[PredictedAssignment], snapshot: GroupSnapshot) -> ComparedPrediction:
    """Compare with each prediction until one holds; return the comparison with the fewest differences."""
    best: ComparedPrediction | None = None
    for predicted in predictions:
        differences = find_differences(predicted, snapshot)
        verdict = PredictionVerdict.DIFFERS if differences else PredictionVerdict.MATCHED
        if best is None or len(differences) < len(best.differences):
            best = ComparedPrediction(verdict, predicted, differences)
        if not differences:
            break
    assert best is not None
    return best


def _has_other_topics(watched: WatchedConsumers, snapshot: GroupSnapshot) -> bool:
    """Return whether topics have appeared, grown or disappeared since the group was observed, in a stable state."""
    targets = set(snapshot.target_actives())
    if not targets <= set(watched.task_names):
        return True
    subscribed = {topic for member in snapshot.members for topic in member.topics}
    assigned = {task.rpartition("-")[0] for task in targets}
    known = {topic.name for topic in watched.topics}
    return snapshot.phase is not GroupPhase.STABLE and not (known & subscribed) <= assigned
