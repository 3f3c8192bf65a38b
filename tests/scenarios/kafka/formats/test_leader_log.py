"""Logs of group leaders of all releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.leader_log import RELEVANT_LINE, LoggedClient, LoggedThread, parse_rebalances
from scenarios.kafka.formats.lines import FormatError

DIALECTS = Path(__file__).with_name("dialects")
ONE, TWO = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
TEN_O_CLOCK_MS = 1_769_940_000_000


def _text(name: str) -> str:
    return (DIALECTS / name).read_text()


def test_successive_rebalances_are_read_with_clients_threads_tasks_and_verdict() -> None:
    first, second = parse_rebalances(_text("leader_3_9.log"))
    assert first.clients == (LoggedClient(ONE, 2, ("0_0", "0_1", "1_0"), ()), LoggedClient(TWO, 1, (), ("0_0",)))
    assert second.clients == (LoggedClient(TWO, 1, ("0_0", "0_1", "1_0"), ()),)
    assert first.stateful == second.stateful == {"0_0", "0_1"}
    assert (first.stable, second.stable) == (False, True)
    assert (first.at_ms, second.at_ms) == (TEN_O_CLOCK_MS + 140, TEN_O_CLOCK_MS + 600_140)
    assert first.leader == f"shop-{ONE}-StreamThread-1-consumer"


def test_up_to_3_4_tasks_and_clients_are_in_one_message() -> None:
    (only,) = parse_rebalances(_text("leader_3_3.log"))
    assert only.clients == (LoggedClient(ONE, 1, ("0_0",), ()), LoggedClient(TWO, 1, ("0_1",), ()))
    assert only.stateful == {"0_0"}
    assert only.at_ms == TEN_O_CLOCK_MS + 500


def test_up_to_2_7_previous_tasks_at_the_end_are_ignored() -> None:
    (only,) = parse_rebalances(_text("leader_2_6.log"))
    assert only.clients == (LoggedClient(ONE, None, ("0_0",), ("0_1",)), LoggedClient(TWO, None, ("0_1",), ()))
    assert (only.stateful, only.stable) == (None, None)


def test_a_streams_group_members_log_of_its_tasks_is_no_assignment() -> None:
    own = "[2026-02-01 09:59:00,000] INFO Assigned tasks with local epoch 0 and group is not ready\n"
    text = _text("leader_4_3.log")
    assert parse_rebalances(own + text)[0].clients == parse_rebalances(text)[0].clients
    with pytest.raises(FormatError, match="no assignments"):
        parse_rebalances(own)


def test_client_states_logged_at_debug_are_no_assignment() -> None:
    had = "[activeTasks: ([]) standbyTasks: ([]) prevActiveTasks: ([0_0]) capacity: 2 assigned: 0]"
    shown = (
        f"2026-02-01 10:00:00.124 DEBUG Constructed client metadata {{{ONE}=ClientMetadata{{hostInfo=null, "
        f"consumers=[a], state={had}}}}} from the member subscriptions.\n"
        f"2026-02-01 10:00:00.125 DEBUG Assigning tasks and 1 standby replicas to client nodes {{{ONE}={had}}}\n"
    )
    text = _text("leader_4_3.log")
    assert [found.clients for found in parse_rebalances(shown + text + shown)] == [
        found.clients for found in parse_rebalances(text)
    ]


@pytest.mark.parametrize("name", ["leader_3_9.log", "leader_3_3.log", "leader_2_6.log"])
def test_the_relevant_lines_alone_give_the_same_result(name: str) -> None:
    lines = [line for line in _text(name).split("\n") if re.search(RELEVANT_LINE, line)]
    whole, relevant = parse_rebalances(_text(name)), parse_rebalances("\n".join(lines))
    assert len(lines) < len(_text(name).split("\n"))
    assert [(found.at_ms, found.clients, found.stateful, found.stable) for found in whole] == [
        (found.at_ms, found.clients, found.stateful, found.stable) for found in relevant
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no assignments; expected the log of the group leader at INFO"),
        ("Assignment of tasks to nodes: \n", 1, "an assignment without clients"),
        (f"{ONE}=[activeTasks: ([0_0]) standbyTasks: ([])]\n", 1, "is not a client's assignment: truncated"),
        (f"Assignment of tasks to nodes: {ONE}=[activeTasks: ([0_0, 0_", 1, "is not a client's assignment: truncated"),
        (f"Assignment of tasks to nodes: {ONE}=[activeTasks: ([x]) standbyTasks: ([])]", 1, "'x' is not a task"),
    ],
)
def test_a_truncated_or_unrelated_log_is_rejected(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_rebalances(text)
    assert caught.value.line == line
    assert message in str(caught.value)


def test_the_tasks_of_threads_are_read_where_they_were_logged() -> None:
    first, second, _ = parse_rebalances(_text("leader_4_3.log"))
    thread = f"shop-{ONE}-StreamThread-{{}}-consumer-{{}}"
    assert first.by_thread == {
        ONE: (
            LoggedThread(thread.format(1, "a"), ("0_0",), ("1_1",)),
            LoggedThread(thread.format(2, "b"), ("1_0",), ()),
        ),
        TWO: (LoggedThread(f"shop-{TWO}-StreamThread-1-consumer-c", ("0_1", "1_1"), ("1_0",)),),
    }
    assert second.by_thread == {}


def test_messages_of_an_assignor_before_its_result_are_no_assignment() -> None:
    rebalances = parse_rebalances(_text("leader_4_3.log"))
    assert [[client.process_id[0] for client in each.clients] for each in rebalances] == [
        ["1", "2"],
        ["1", "2", "3"],
        ["1", "3"],
    ]
