"""Rolling updates, drains and spot interruptions of a scenario become disturbances; impossible ones are mistakes."""

from __future__ import annotations

import pytest

from simulator.world.changes import Disturbance
from simulator.world.disturbances import Leave, RollingBounce
from simulator.world.pod_events import (
    Closing,
    DeploymentUpdate,
    NodeDrain,
    SpotInterruption,
    StatefulSetUpdate,
    Volume,
)
from tests.scenarios.scenario_texts import load_text, mistakes_in, replace_in_small, with_events

MINUTE = 60_000
APP = ("app-0", "app-1", "app-2")
DEFAULT = Closing(grace_ms=30_000)
TIMES = {"start_ms": 10_000, "ready_ms": 20_000}
SPARE = replace_in_small(
    "  - {name: late, rack: az1, starts: false}",
    "  - {name: late, rack: az1, starts: false}\n  - {name: new, count: 3, racks: [az2, az3], starts: false}",
)
UPDATE = "{at: 10m, rolling_update: {clients: app, kind: %s}}"


def resolve(entry: str, base: str = SPARE) -> Disturbance:
    return load_text(base.replace("  - {at: 30m, scale_out: {clients: late}}", f"  - {entry}")).world(1).disturbances[0]


def mistakes(entry: str) -> list[str]:
    text = SPARE.replace("  - {at: 30m, scale_out: {clients: late}}", f"  - {entry}")
    return [mistake.partition("events[0].")[2] for mistake in mistakes_in(text)]


def test_closing_events_say_how_long_clients_close() -> None:
    keys = "clients: app, leaves_group: true, close: 5s, grace: 10s"
    closing = Closing(leaves_group=True, close_ms=5_000, grace_ms=10_000)
    left = resolve(f"{{at: 10m, leave: {{{keys}}}}}")
    bounce = resolve(f"{{at: 10m, rolling_bounce: {{{keys}}}}}")
    scaled = resolve(f"{{at: 10m, autoscale: {{{keys}, bytes_per_s: 1 MB/s, every: 1h, max: 1}}}}")
    for event in (left, bounce, scaled):
        assert isinstance(event, Leave | RollingBounce)
        assert event.closing == closing


def test_stateful_set_keeps_its_volumes_by_default() -> None:
    update = resolve(UPDATE % "stateful_set")
    assert update == StatefulSetUpdate(10 * MINUTE, APP, DEFAULT, Volume.ZONAL, **TIMES)
    keys = "stateful_set, volume: none, pre_stop: 5s, close: 8s, grace: 1m, start_after: 1s, ready_after: 2s"
    closing = Closing(None, 8_000, 5_000, 60_000)
    assert resolve(UPDATE % keys) == StatefulSetUpdate(
        10 * MINUTE, APP, closing, Volume.NONE, start_ms=1_000, ready_ms=2_000
    )


@pytest.mark.parametrize(
    ("surge", "missing", "expected"),
    [
        (None, None, (1, 0)),
        ("1", "1", (1, 1)),
        ("100%", "0", (3, 0)),
        ("34%", "67%", (2, 2)),
        ("0%", "10%", (0, 1)),
        ("0", "9", (0, 3)),
    ],
)
def test_percentages_of_a_deployment_round_as_in_kubernetes(
    surge: str | None, missing: str | None, expected: tuple[int, int]
) -> None:
    keys = "".join(f", {key}: {value}" for key, value in (("max_surge", surge), ("max_unavailable", missing)) if value)
    update = resolve(UPDATE % f"deployment{keys}, replacements: new")
    assert isinstance(update, DeploymentUpdate)
    assert (update.max_surge, update.max_unavailable) == expected
    assert update.successors == ("new-0", "new-1", "new-2")


def test_drain_of_clients_and_of_a_rack() -> None:
    drain = resolve("{at: 10m, node_drain: {clients: [app-1, app-0], max_unavailable: 1}}")
    assert drain == NodeDrain(10 * MINUTE, ("app-1", "app-0"), DEFAULT, Volume.ZONAL, **TIMES, max_unavailable=1)
    zone = resolve("{at: 10m, node_drain: {rack: az1, down: 20m}}")
    assert zone == NodeDrain(
        10 * MINUTE, ("app-0",), DEFAULT, Volume.ZONAL, **TIMES, nodes_back_ms=20 * MINUTE, drains_zone=True
    )


def test_spot_interruption() -> None:
    keys = "clients: app-0, notice: 30s, replace: 2m, replacements: late, close: 3s"
    assert resolve(f"{{at: 10m, spot_interruption: {{{keys}}}}}") == SpotInterruption(
        10 * MINUTE,
        ("app-0",),
        Closing(close_ms=3_000, grace_ms=30_000),
        successors=("late",),
        notice_ms=30_000,
        replace_ms=2 * MINUTE,
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (UPDATE % "pods", "rolling_update.kind: 'pods' is not one of: 'stateful_set' or 'deployment'"),
        (
            UPDATE % "stateful_set, max_surge: 1",
            "rolling_update.max_surge: only with kind: deployment; a StatefulSet replaces one pod at a time",
        ),
        (
            UPDATE % "stateful_set, replacements: new",
            "rolling_update.replacements: pods of a StatefulSet come back with their names; remove replacements, or "
            "set kind: deployment",
        ),
        (
            UPDATE % "deployment, volume: zonal, replacements: new",
            "rolling_update.volume: pods of a Deployment have no volume of their own; remove volume, or set kind: "
            "stateful_set",
        ),
        (
            UPDATE % "deployment",
            "rolling_update: max_surge is 25%, so new pods start before old ones stop: list 3 clients with starts: "
            "false under replacements, or set max_surge: 0",
        ),
        (
            UPDATE % "deployment, max_surge: 0, max_unavailable: 0%",
            "rolling_update.max_unavailable: max_surge and max_unavailable are both 0, so no pod can be replaced; set "
            "one to at least 1",
        ),
        (
            UPDATE % "deployment, max_surge: 1.5, replacements: new",
            "rolling_update.max_surge: 1.5 is not a number of pods, such as 1, or a percentage, such as 25%",
        ),
        (
            UPDATE % "deployment, replacements: [new-0, late]",
            "rolling_update.replacements: 3 clients are replaced by 2; list as many replacements as clients",
        ),
        (
            UPDATE % "deployment, replacements: [new-0, late, app-0]",
            "rolling_update.replacements: cannot replace themselves: app-0",
        ),
        (UPDATE % "stateful_set, grace: 1s", "rolling_update.grace: '1s' is too small (at least 2000)"),
        ("{at: 1m, node_drain: {volume: none}}", "node_drain: expected clients or rack, the zone to drain; found none"),
        (
            "{at: 1m, node_drain: {clients: app, rack: az1}}",
            "node_drain: expected clients or rack, the zone to drain; found both",
        ),
        (
            "{at: 1m, node_drain: {clients: app, volume: local, max_unavailable: 1}}",
            "node_drain.max_unavailable: the drain never ends: evicted pods with volume: local are not ready before "
            "the nodes are back, so only 1 of 3 may be evicted; set max_unavailable to at least 3",
        ),
        (
            "{at: 1m, node_drain: {rack: az1, volume: none}}",
            "node_drain: all nodes of rack 'az1' are drained, so its pods start in other racks: list 1 client of other "
            "racks with starts: false under replacements",
        ),
        (
            "{at: 1m, node_drain: {rack: az1, volume: none, replacements: late}}",
            "node_drain.replacements: in rack az1, all of whose nodes are drained: late",
        ),
        (
            "{at: 1m, node_drain: {clients: app-0, replacements: late}}",
            "node_drain.replacements: replacements have empty disks; set volume: none, or remove replacements",
        ),
        (
            "{at: 1m, spot_interruption: {clients: app-0, volume: local}}",
            "spot_interruption.volume: a disk of the instance is lost with it; set volume to none, or to zonal for a "
            "network disk",
        ),
        (
            "{at: 1m, spot_interruption: {clients: app-0, replacements: late}}",
            "spot_interruption.replacements: set replace, the time until the replacements start",
        ),
        (
            "{at: 1m, spot_interruption: {clients: app-0, reacts: false, replace: 1m}}",
            "spot_interruption.replace: 1m is before the end of the interrupted client, at 2m; set replace to at least "
            "2m, or list other clients with starts: false under replacements",
        ),
        (
            "{at: 1m, spot_interruption: {clients: app-0, pre_stop: 29s, notice: 30s}}",
            "spot_interruption.pre_stop: leaves no time to close before the instance stops (30s after the notice); "
            "shorten it",
        ),
        (
            UPDATE % "deployment, replacements: [new-0, new-1, app-9]",
            "rolling_update.replacements[2]: unknown client 'app-9' (did you mean 'app-2'?)",
        ),
    ],
)
def test_impossible_events_are_mistakes(entry: str, message: str) -> None:
    assert mistakes(entry)[0] == message


def test_replacements_are_absent_before_and_present_afterwards() -> None:
    update = "{at: 10m, rolling_update: {clients: app, kind: deployment, replacements: [new-0, new-1, new-2]}}"
    again = "{at: 20m, rolling_update: {clients: %s, kind: deployment, replacements: %s}}"

    def found(*entries: str) -> list[str]:
        text = with_events(*entries).replace(
            "  - {name: late, rack: az1, starts: false}",
            "  - {name: late, rack: az1, starts: false}\n  - {name: new, count: 3, racks: [az2, az3], starts: false}",
        )
        return [mistake.partition("events[1].")[2] for mistake in mistakes_in(text)]

    assert found(update, again % ("new", "app")) == []
    assert found(update, again % ("app", "new")) == [
        "rolling_update.clients: absent at 20m: app-0, app-1, app-2",
        "rolling_update.replacements: already present at 20m: new-0, new-1, new-2",
    ]


def test_client_that_closes_is_present_until_its_end() -> None:
    leave = "{at: 10m, leave: {clients: app-0, close: 30s}}"
    assert mistakes_in(with_events(leave, "{at: 630s, join: {clients: app-0}}")) == []
    assert mistakes_in(with_events(leave, "{at: 620s, join: {clients: app-0}}")) == [
        "s.yaml:21: events[1].join.clients: already present at 10m20s: app-0"
    ]
