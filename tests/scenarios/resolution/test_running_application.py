"""Scenarios of an application that starts running: initial tasks and their mistakes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.model.ids import TaskId
from scenarios.load import loads
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import HeldTasks, Start
from tests.scenarios.scenario_texts import RUNNING, mistakes_in
from tests.scenarios.test_mistakes import Case, cases

CASES = list(cases("mistakes_of_running.txt"))


def load_tasks(text: str) -> list[HeldTasks]:
    return [client.tasks for client in loads(text).world(1).clients]


def ids(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, names))


def test_clients_have_their_initial_tasks_by_thread() -> None:
    world = loads(RUNNING).world(1)
    assert (world.start, world.next_rebalance_ms) == (Start.RUNNING, 480_000)
    assert load_tasks(RUNNING)[0] == HeldTasks((ids("0_0"), ids("1_1")), (ids("0_3"), ()), {TaskId(0, 3): 40})
    assert load_tasks(RUNNING)[2] == HeldTasks()


def test_flat_task_list_is_balanced_over_threads() -> None:
    opened = {TaskId(0, 1): 7}
    active = ids("0_1", "0_3"), ids("0_2", "1_0")
    assert load_tasks(RUNNING)[1] == HeldTasks(active, (ids("0_0"), ()), lags_when_opened=opened)
    odd = RUNNING.replace("[0_1, 0_2, 0_3, 1_0]", "[0_1, 0_2, 0_3]")
    active = ids("0_1", "0_3"), ids("0_2")
    assert load_tasks(odd)[1] == HeldTasks(active, ((), ids("0_0")), lags_when_opened=opened)


@pytest.mark.parametrize("task_text", ["0_0", "'0_0'", '"0_0"'])
def test_task_id_is_text_with_or_without_quotes(task_text: str) -> None:
    assert load_tasks(RUNNING.replace("[[0_0]", f"[[{task_text}]"))[0].active[0] == ids("0_0")
    lags = RUNNING.replace("standby: [0_0]", f"standby: [0_0], lags: {{{task_text}: 7}}")
    assert load_tasks(lags)[1].lags == {TaskId(0, 0): 7}


def test_unassigned_task_is_noted() -> None:
    assert loads(RUNNING).notes == ()
    left = loads(RUNNING.replace(", 1_0]", "]").replace("[1_1]]", "[]]"))
    assert left.notes == ("active tasks unassigned until the first rebalance: 1_0, 1_1",)


def test_lag_above_the_number_of_records_is_noted() -> None:
    [note] = loads(RUNNING.replace("0_3: 40", "0_3: 10001")).notes
    assert note == (
        "clients[0].tasks.lags.0_3: 10,001 records, but the changelogs of 0_3 hold 10,000; assumed to be an empty copy"
    )
    assert loads(RUNNING.replace("0_3: 40", "0_3: 10000")).notes == ()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_invalid_tasks_are_rejected(case: Case) -> None:
    assert RUNNING.count(case.before) == 1
    assert mistakes_in(RUNNING.replace(case.before, case.after)) == [f"s.yaml:{mistake}" for mistake in case.mistakes]


def test_entry_with_count_1_may_have_tasks() -> None:
    [_, client, _] = loads(RUNNING.replace("two, th", "two, count: 1, th")).world(1).clients
    assert (client.name, client.tasks.active[0]) == ("two-0", ids("0_1", "0_3"))


def test_streams_group_has_no_probing_rebalance() -> None:
    streams = RUNNING.replace("  id: shop\n", "  id: shop\n  configs: {group.protocol: streams}\n")
    assert mistakes_in(streams) == [
        "s.yaml:11: application.next_rebalance: the streams protocol has no probing rebalances"
    ]
    classic = "assignors: [{assignor: high_availability, configs: {group.protocol: classic}}]\n"
    assert mistakes_in(streams + classic) == []
    scenario, protocols = loads(RUNNING), (GroupProtocol.CLASSIC, GroupProtocol.STREAMS)
    specs = [replace(scenario.assignors[0], protocol=protocol) for protocol in protocols]
    assert [scenario.world(1, spec).next_rebalance_ms for spec in specs] == [480_000, None]


def test_invalid_application_causes_no_mistakes_in_tasks() -> None:
    text = RUNNING.replace("sources: [orders]", "sources: [order]")
    assert [mistake.split(": ")[1] for mistake in mistakes_in(text)] == ["application.subtopologies[0].sources[0]"]


def test_topics_have_the_given_leaders() -> None:
    topics = loads(RUNNING).world(1).cluster.topics
    assert topics["payments"].leaders == (1, -1)
    assert topics["orders"].leaders == tuple(row[0] for row in topics["orders"].replicas)
