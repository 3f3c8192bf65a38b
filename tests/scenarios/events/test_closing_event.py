"""Warnings about clients that cannot close as an event says."""

from __future__ import annotations

import pytest

from scenarios.load import loads
from tests.scenarios.scenario_texts import SMALL

DEPLOYMENT = "rolling_update: {clients: app, kind: deployment, max_surge: 0}"


def warnings(event: str, *, kafka: str | None = None, config: bool = False, static: bool = False) -> list[str]:
    text = SMALL.replace("  - {at: 30m, scale_out: {clients: late}}", f"  - {{at: 10m, {event}}}")
    if kafka is not None:
        text = text.replace("  id: shop\n", f"  id: shop\n  kafka: {kafka}\n")
    if config:
        text = text.replace(
            "{num.standby.replicas: 1}", "{num.standby.replicas: 1, internal.leave.group.on.close: true}"
        )
    if static:
        text = text.replace("threads: 2}", "threads: 2, static_membership: true}")
    return [warning.partition(": ")[2] for warning in loads(text, "s.yaml").warnings]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            "leave: {clients: app-0, close: 40s, grace: 30s}",
            "events[0].leave.grace: close takes 40s, more than grace (30s): clients are killed, lose unflushed state "
            "and do not leave the group; set at least grace: 40s",
        ),
        (
            "rolling_update: {clients: app, kind: stateful_set, pre_stop: 10s, close: 25s}",
            "events[0].rolling_update.close: pre_stop and close take 35s, more than grace (30s): clients are killed, "
            "lose unflushed state and do not leave the group; set at least grace: 35s",
        ),
        (
            "spot_interruption: {clients: app-0, notice: 30s, close: 40s, grace: 2m}",
            "events[0].spot_interruption.notice: close takes 40s, more than notice (30s): clients are killed, lose "
            "unflushed state and do not leave the group; set at least notice: 40s",
        ),
        (
            "spot_interruption: {clients: app-0, reacts: false, close: 1s}",
            "events[0].spot_interruption.close: has no effect with reacts: false: the clients are killed",
        ),
        (
            "node_drain: {clients: app-0, down: 5m}",
            "events[0].node_drain.down: has no effect: the pods start on other nodes",
        ),
    ],
)
def test_impossible_times_cause_a_warning(event: str, message: str) -> None:
    assert warnings(event) == [message]


def test_times_within_the_grace_period_cause_no_warning() -> None:
    assert warnings("leave: {clients: app-0, close: 30s, grace: 30s}") == []
    assert warnings("rolling_update: {clients: app, kind: stateful_set, pre_stop: 10s, close: 20s}") == []


def test_config_that_newer_releases_do_not_have_causes_a_warning() -> None:
    for kafka, release in ((None, "4.4 by default"), ("4.2.0", "4.2.0")):
        assert warnings("leave: {clients: app-0}", kafka=kafka, config=True) == [
            "application.configs.internal.leave.group.on.close: does not exist from Kafka 4.2 on (application.kafka: "
            f"{release}), so clients remain in the group; set leaves_group: true of events, or application.kafka to "
            "the release of the clients"
        ]
    assert warnings("leave: {clients: app-0}", kafka="4.1.2", config=True) == []


def test_close_options_that_older_releases_do_not_have_cause_a_warning() -> None:
    leave = "leave: {clients: app-0, leaves_group: %s}"
    place = "events[0].leave.leaves_group: before Kafka 4.2 (application.kafka: 3.9.1), "
    assert warnings(leave % "true", kafka="3.9.1") == [
        place + "CloseOptions.leaveGroup(true) removes static members only; dynamic ones leave only with "
        "internal.leave.group.on.close: true"
    ]
    assert warnings(leave % "false", kafka="3.9.1", config=True) == [
        place + "dynamic members leave because of internal.leave.group.on.close: true, and CloseOptions cannot keep "
        "them"
    ]
    assert warnings(leave % "true", kafka="3.9.1", config=True) == []
    assert warnings(leave % "true", kafka="3.9.1", static=True) == []
    assert warnings(leave % "true", kafka="4.2.0") == warnings(leave % "true") == []


def test_static_members_of_a_deployment_cause_a_warning() -> None:
    assert warnings(DEPLOYMENT) == []
    assert warnings(DEPLOYMENT, static=True) == [
        "events[0].rolling_update.kind: static members: app-0, app-1, app-2; a Deployment gives new pods new names, "
        "but here they keep them; list replacements, or use a stateful_set"
    ]
    replaced = "spot_interruption: {clients: app-0, replace: 3m, replacements: late%s}"
    assert warnings(replaced % "", static=True) == [
        "events[0].spot_interruption.replacements: static members: app-0; replacements have other names, so the group "
        "waits for the session timeouts of their predecessors; set leaves_group: true"
    ]
    assert warnings(replaced % ", leaves_group: true", static=True) == []


def test_update_that_the_run_cuts_off_causes_a_warning() -> None:
    [warning] = warnings("rolling_update: {clients: app, kind: stateful_set, ready_after: 1h}")
    assert warning.startswith(
        "events[0].rolling_update: only 2 of 3 clients have started again before the run ends at 2h"
    )
