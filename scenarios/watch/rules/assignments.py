"""New assignments: their cause, and whether they are as predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scenarios.kafka.observation.observation import GroupKind, GroupSnapshot
from scenarios.watch.polls import Poll, PredictionVerdict
from scenarios.watch.predicted_assignment import in_kafka_order
from scenarios.watch.watch_events import Alarm, EventKind, EventLevel, WatchEvent, with_names
from simulator.plurals import counted


class Assignments:
    """Reports each new assignment with its cause; alarms while the last one differs from its prediction.

    Attributes:
        rebalances: number of rebalances since the first poll, by generation or epoch.
        verdicts: number of new assignments by verdict.
        num_elsewhere: number of tasks that are not where they were predicted, in the last compared assignment.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._differs = Alarm(group, EventKind.PREDICTION)
        self._last: GroupSnapshot | None = None
        self.rebalances = 0
        self.verdicts: Counter[PredictionVerdict] = Counter()
        self.num_elsewhere = 0

    @property
    def alarms(self) -> dict[EventKind, bool]:
        """Return which alarms are active."""
        return {EventKind.PREDICTION: self._differs.is_active}

    def observe(self, poll: Poll) -> Iterator[WatchEvent]:
        """Yield the events of a poll."""
        if not poll.is_new or poll.compared is None:
            return
        if self._last is not None:
            yield self._rebalance(poll, self._last)
        self._last = poll.snapshot
        self.verdicts[poll.compared.verdict] += 1
        yield from self._prediction(poll)

    def _rebalance(self, poll: Poll, before: GroupSnapshot) -> WatchEvent:
        snapshot = poll.snapshot
        passed = 1 if snapshot.epoch is None or before.epoch is None else max(1, snapshot.epoch - before.epoch)
        self.rebalances += passed
        cause = rebalance_cause(before, snapshot)
        targets = before.target_actives()
        moved = sum(process != targets.get(task) for task, process in snapshot.target_actives().items())
        unit = "epoch" if snapshot.is_coordinated else "generation"
        number = "" if snapshot.epoch is None else f", {unit} {snapshot.epoch}"
        several = "rebalance" if passed == 1 else f"{passed} rebalances"
        message = f"{several}{number}: {cause}; {poll.counted_tasks(moved)} moved"
        details = {"epoch": snapshot.epoch, "rebalances": passed, "cause": cause, "active_tasks_moved": moved}
        return WatchEvent(snapshot.at_ms, self._group, EventKind.REBALANCE, EventLevel.INFO, message, details)

    def _prediction(self, poll: Poll) -> Iterator[WatchEvent]:
        compared, at_ms = poll.compared, poll.snapshot.at_ms
        assert compared is not None
        if compared.verdict is PredictionVerdict.UNKNOWN:
            message = f"assignment not compared: {compared.reason}"
            yield WatchEvent(at_ms, self._group, EventKind.PREDICTION, EventLevel.INFO, message, {"verdict": "unknown"})
            return
        tasks = in_kafka_order({difference.task for difference in compared.differences})
        self.num_elsewhere = len(tasks)
        differences = [
            {
                "task": difference.task,
                "role": difference.role,
                "predicted": [poll.name(process) for process in difference.predicted],
                "observed": [poll.name(process) for process in difference.observed],
            }
            for difference in compared.differences
        ]
        total = 0 if compared.predicted is None else len(compared.predicted.tasks)
        details = {"verdict": str(compared.verdict), "tasks": total, "differences": differences}
        as_predicted = f"assignment as predicted: {poll.counted_tasks(total)}"
        elsewhere = with_names(f"{len(tasks)} of {poll.counted_tasks(total)} not as predicted", tasks)
        was_active = self._differs.is_active
        yield from self._differs.update(at_ms, bool(tasks), elsewhere, as_predicted, details)
        if was_active == self._differs.is_active:
            level, message = (EventLevel.ALARM, elsewhere) if tasks else (EventLevel.INFO, as_predicted)
            yield WatchEvent(at_ms, self._group, EventKind.PREDICTION, level, message, details)


def rebalance_cause(before: GroupSnapshot, snapshot: GroupSnapshot) -> str:
    """Return why a group has another assignment, as its members show."""
    of_consumers = snapshot.kind is GroupKind.CONSUMERS
    now, earlier = set(snapshot.clients()), set(before.clients())
    joined, left = len(now - earlier), len(earlier - now)
    started, ended = _count_new(before, snapshot), _count_new(snapshot, before)
    if joined or left:
        return _changes("member" if of_consumers else "client", joined, left)
    if of_consumers:
        return _cause_in_consumers(before, snapshot, started)
    if started or ended:
        return _changes("thread", started, ended)
    if before.next_rebalance_at_ms == 0:
        return "follow-up, after tasks were revoked"
    if before.next_rebalance_at_ms is not None and before.next_rebalance_at_ms <= snapshot.at_ms:
        return "probing"
    return "requested by a member"


def _cause_in_consumers(before: GroupSnapshot, snapshot: GroupSnapshot, returned: int) -> str:
    """Return the cause if a consumer group has the same members; static ones have the same instance id."""
    if returned:
        return f"{counted(returned, 'static member')} returned"
    if before.has_outdated_target:
        return "members had changed again"
    if snapshot.is_coordinated:
        return "subscriptions or topics changed"
    if {str(name) for member in before.members for name in member.owned} - set(before.actives()):
        return "follow-up, after partitions were revoked"
    return "requested by a member"


def _changes(noun: str, joined: int, left: int) -> str:
    changes = [f"{counted(joined, noun)} joined"] if joined else []
    return ", ".join([*changes, *([f"{counted(left, noun)} left"] if left else [])])


def _count_new(before: GroupSnapshot, after: GroupSnapshot) -> int:
    return len(set(after.member_ids) - set(before.member_ids))
