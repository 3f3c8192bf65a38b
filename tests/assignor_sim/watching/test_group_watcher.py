"""The polls of a watch on recorded responses of real clusters: requests, failures and recovery."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from assignor_sim.watching.group_watcher import GroupWatcher, WatchRequest, retry_delay_s
from assignors.errors import UnknownAssignorError
from scenarios.kafka.observation.observation import ObservationError
from scenarios.load import ScenarioError
from scenarios.watch.watch_events import EventKind, EventLevel, WatchEvent
from tests.scenarios.kafka.live.recorded_cluster import Recorded

LAG = {"acceptable.recovery.lag": "100"}


class CountedRequests(Recorded):
    """A recording that counts requests, and repeats the offsets of the committed ones."""

    def __init__(self, name: str, **replaced: list[Any]) -> None:
        super().__init__(name, **{"committed_offsets": [[]], **replaced})
        self.counts: Counter[str] = Counter()

    def _next(self, request: str) -> Any:
        self.counts[request] += 1
        return super()._next(request)


def kinds(events: list[WatchEvent]) -> list[EventKind]:
    return [event.kind for event in events]


@pytest.mark.parametrize(
    ("name", "group", "configs"),
    [("classic.jsonl", "shop", {}), ("classic_3_9.jsonl", "shop", {}), ("streams.jsonl", "kiosk", {})],
)
def test_first_poll_of_a_stable_group_reports_the_application(name: str, group: str, configs: dict[str, str]) -> None:
    watcher = GroupWatcher(WatchRequest(group, configs=configs))
    events = watcher.poll(CountedRequests(name))
    assert kinds(events) == [EventKind.STARTED, EventKind.GROUP_STATE, EventKind.PREDICTION]
    assert events[0].details["tasks"] == 16
    assert any("Kafka 4.3" in text or "4.4" in text for text in events[0].details["assumed"])
    assert not watcher.has_alarm
    assert watcher.status.polls == 1


@pytest.mark.parametrize(("name", "group"), [("classic.jsonl", "shop"), ("consumers.jsonl", "billing")])
def test_rack_pattern_without_a_client_ends_the_watch(name: str, group: str) -> None:
    watcher = GroupWatcher(WatchRequest(group, racks=[("*", "az1"), ("none-*", "az2")]))
    with pytest.raises(ObservationError, match=r"--rack 'none-\*=az2': no client matches 'none-\*' \(clients: "):
        watcher.poll(CountedRequests(name))


def test_group_that_rebalances_is_reported_once_it_is_stable() -> None:
    watcher, cluster = GroupWatcher(WatchRequest("shop", configs=LAG)), CountedRequests("warming_up.jsonl")
    events = [kinds(watcher.poll(cluster)) for _ in range(6)]
    assert events[0] == [EventKind.GROUP_STATE]
    assert events[1:5] == [[]] * 4
    assert events[5] == [EventKind.STARTED, EventKind.GROUP_STATE, EventKind.PREDICTION, EventKind.WARMUPS]
    status = watcher.status.monitor
    assert (status.warmups, status.tasks_elsewhere) == (1, 0)
    assert status.max_warmup_lag > 20_000


def test_poll_without_change_sends_three_requests() -> None:
    watcher, cluster = GroupWatcher(WatchRequest("shop")), CountedRequests("classic.jsonl")
    watcher.poll(cluster)
    for _ in range(3):
        cluster.counts.clear()
        assert watcher.poll(cluster) == []
        assert cluster.counts.pop("now_ms") == 1
        assert cluster.counts == {"classic_group": 1, "committed_offsets": 1, "end_offsets": 1}


def test_other_configs_than_those_of_the_group_are_an_alarm() -> None:
    watcher = GroupWatcher(WatchRequest("shop", configs={"num.standby.replicas": "2"}))
    events = watcher.poll(CountedRequests("classic.jsonl"))
    [alarm] = [event for event in events if event.level is EventLevel.ALARM]
    assert alarm.kind is EventKind.PREDICTION
    assert {difference["role"] for difference in alarm.details["differences"]} == {"standby"}
    assert watcher.has_alarm


def test_other_assignor_than_that_of_the_group_is_an_alarm() -> None:
    watcher = GroupWatcher(WatchRequest("shop", assignor="sticky_task_assignor", configs=LAG))
    cluster = CountedRequests("warming_up.jsonl")
    for _ in range(6):
        watcher.poll(cluster)
    assert watcher.has_alarm


CONSUMERS = [
    (
        "consumers.jsonl",
        "billing",
        "classic_group",
        "billing (classic): 17 partitions on 4 members, cooperative-sticky",
    ),
    ("consumers_range.jsonl", "default", "classic_group", "default (classic): 17 partitions on 4 members, range"),
    ("consumers_coordinator.jsonl", "audit", "consumer_group", "audit (consumer): 17 partitions on 4 members, uniform"),
]


@pytest.mark.parametrize(("name", "group", "describe", "message"), CONSUMERS)
def test_consumer_group_is_reported_and_polled_with_three_requests(
    name: str, group: str, describe: str, message: str
) -> None:
    watcher, cluster = GroupWatcher(WatchRequest(group)), CountedRequests(name)
    events = watcher.poll(cluster)
    assert kinds(events) == [EventKind.STARTED, EventKind.GROUP_STATE, EventKind.PREDICTION]
    assert events[0].message == message
    assert {key: events[0].details[key] for key in ("tasks", "members")} == {"tasks": 17, "members": 4}
    assert "processes" not in events[0].details
    commits = "Consumers are assumed to commit at least every 5 s; state auto.commit.interval.ms with --config."
    assert events[0].details["assumed"][-1] == commits
    verdict = "unknown" if describe == "consumer_group" else "matched"
    assert events[-1].details["verdict"] == verdict
    cluster.counts.clear()
    assert watcher.poll(cluster) == []
    assert cluster.counts == {"now_ms": 1, describe: 1, "committed_offsets": 1, "end_offsets": 1}
    assert not watcher.has_alarm


def test_custom_assignor_of_consumers_is_named_and_not_compared() -> None:
    [described] = Recorded("consumers.jsonl").responses("classic_group")[:1]
    cluster = CountedRequests("consumers.jsonl", classic_group=[{**described, "protocol_data": "com.example.Mine"}])
    watcher = GroupWatcher(WatchRequest("billing"))
    started, _, prediction = watcher.poll(cluster)
    assert started.message == "billing (classic): 17 partitions on 4 members, com.example.Mine"
    assert prediction.message == "assignment not compared: assignor 'com.example.Mine' is not Kafka's"
    assert started.details["assumed"][0].startswith("The assignor com.example.Mine is not Kafka's")
    assert not watcher.has_alarm


def test_other_assignor_than_that_of_the_consumers_is_an_alarm() -> None:
    watcher = GroupWatcher(WatchRequest("billing", assignor="roundrobin"))
    watcher.poll(CountedRequests("consumers.jsonl"))
    assert watcher.has_alarm


def test_consumer_group_that_ends_and_returns_with_the_other_protocol_is_followed() -> None:
    """The description of a group that has become one of the consumer protocol says that it does not exist."""
    coordinated = Recorded("consumers_coordinator.jsonl")
    renamed = {**coordinated.responses("consumer_group")[0], "group_id": "billing"}
    [classic] = Recorded("consumers.jsonl").responses("classic_group")[:1]
    groups = [[{"group_id": "billing", "group_type": group_type}] for group_type in ("classic", "classic", "consumer")]
    cluster = CountedRequests(
        "consumers_coordinator.jsonl",
        groups=groups,
        classic_group=[classic, {**classic, "error_code": 69, "error_message": "not found"}],
        consumer_group=[renamed],
    )
    watcher = GroupWatcher(WatchRequest("billing"))
    assert EventKind.STARTED in kinds(watcher.poll(cluster))
    assert EventKind.GROUP_GONE in kinds(watcher.poll(cluster))
    events = watcher.poll(cluster)
    assert [event.level for event in events if event.kind is EventKind.GROUP_GONE] == [EventLevel.RESOLVED]
    [prediction] = [event for event in events if event.kind is EventKind.PREDICTION]
    assert prediction.message == "assignment not compared: the target before it was not seen"


@pytest.mark.parametrize(
    ("request_", "error", "expected"),
    [
        (WatchRequest("billing", topology="x"), ObservationError, "is a consumer group, and has no topology"),
        (WatchRequest("billing", assignor="high_availability"), UnknownAssignorError, "not an assignor of consumer"),
        (WatchRequest("billing", configs={"session.timeout.ms": "1"}), ScenarioError, "session.timeout.ms"),
    ],
)
def test_invalid_request_for_consumers_fails_at_the_first_assignment(
    request_: WatchRequest, error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected):
        GroupWatcher(request_).poll(CountedRequests("consumers.jsonl"))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (WatchRequest("shop", assignor="unknown"), UnknownAssignorError),
        (WatchRequest("shop", configs={"num.standby.replicas": "many"}), ScenarioError),
        (WatchRequest("shop", topology="no topology"), ObservationError),
    ],
)
def test_invalid_request_fails_at_the_first_assignment(request_: WatchRequest, error: type[Exception]) -> None:
    with pytest.raises(error):
        GroupWatcher(request_).poll(CountedRequests("classic.jsonl"))


def test_unknown_group_is_an_alarm_and_found_when_it_appears() -> None:
    cluster = CountedRequests("classic.jsonl", groups=[[], Recorded("classic.jsonl").responses("groups")[0]])
    watcher = GroupWatcher(WatchRequest("shop"))
    assert kinds(watcher.poll(cluster)) == [EventKind.GROUP_STATE, EventKind.GROUP_GONE]
    assert watcher.has_alarm
    assert EventKind.STARTED in kinds(watcher.poll(cluster))
    assert not watcher.has_alarm


def test_alarm_is_raised_after_three_failures_and_resolved_by_a_poll() -> None:
    watcher, cluster = GroupWatcher(WatchRequest("shop")), CountedRequests("classic.jsonl")
    watcher.poll(cluster)
    error = ObservationError("no response on group 'shop'")
    events = [watcher.fail(1_000 * number, error) for number in range(5)]
    assert [[event.level for event in of_poll] for of_poll in events] == [
        [EventLevel.INFO],
        [],
        [EventLevel.ALARM],
        [],
        [],
    ]
    assert watcher.has_alarm
    status = watcher.status
    assert (status.is_unreachable, status.failed_polls, watcher.failures) == (True, 5, 5)
    assert [event.level for event in watcher.poll(cluster)] == [EventLevel.RESOLVED]
    assert not watcher.has_alarm
    assert watcher.failures == 0


def test_state_is_kept_over_connections() -> None:
    watcher = GroupWatcher(WatchRequest("shop"))
    watcher.poll(CountedRequests("classic.jsonl"))
    again = CountedRequests("classic.jsonl")
    assert watcher.poll(again) == []
    assert watcher.status.monitor.rebalances == 0


def test_new_topology_that_cannot_be_simulated_stops_comparing_only() -> None:
    """Members report a topic without partitions: the application cannot be observed with the next assignment."""
    watcher = GroupWatcher(WatchRequest("shop", configs={"num.standby.replicas": "1"}))
    cluster = CountedRequests("classic.jsonl")
    watcher.poll(cluster)
    changed = CountedRequests("classic.jsonl", classic_group=[_rejoined(), _rejoined()])
    for topic in changed.responses("topics")[0]:
        for partition in topic["partitions"]:
            partition["replica_nodes"] = [99]
    events = watcher.poll(changed)
    assert EventKind.PREDICTION in kinds(events)
    assert watcher.status.polls == 2


def _rejoined() -> dict[str, Any]:
    response = dict(Recorded("classic.jsonl").responses("classic_group")[0])
    first, second, *others = response["members"]
    exchanged = [
        {**first, "member_metadata": second["member_metadata"]},
        {**second, "member_metadata": first["member_metadata"]},
    ]
    return {**response, "members": [*exchanged, *others]}


def test_delay_after_failures_grows_up_to_five_minutes() -> None:
    assert [retry_delay_s(30, failures) for failures in (1, 2, 3, 4, 5, 50)] == [30, 60, 120, 240, 300, 300]
    assert retry_delay_s(600, 3) == 600
