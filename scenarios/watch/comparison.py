"""Comparison of a new assignment with the predicted one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.errors import AssignorError
from scenarios.kafka.formats.topic_patterns import compile_pattern
from scenarios.kafka.observation.group_snapshot import GroupPhase, GroupSnapshot
from scenarios.watch.application import WatchedApplication
from scenarios.watch.consumer_prediction import predict_classic_consumers, predict_coordinated_consumers
from scenarios.watch.consumers import WatchedConsumers
from scenarios.watch.polls import ComparedPrediction, PredictionVerdict
from scenarios.watch.predicted_assignment import PredictedAssignment, find_differences
from scenarios.watch.prediction import predict_classic, predict_streams
from scenarios.watch.watched_group import WatchedGroup


def compare_assignment(
    watched: WatchedGroup, snapshot: GroupSnapshot, last: GroupSnapshot | None, assigned: GroupSnapshot | None
) -> ComparedPrediction:
    """Compare a new assignment with the predicted one.

    Args:
        watched: the group.
        snapshot: the group with the new assignment.
        last: the snapshot of the poll before; None at the first.
        assigned: the last snapshot with another assignment; None if there was none.

    Returns:
        The comparison; of unknown result if the prediction depends on what no poll has shown.
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
