"""Logs of group leaders of all releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.logs import RELEVANT_LINE, LoggedClient, LoggedThread, parse_rebalances

DIALECTS = Path(__file__).with_name("dialects")
ONE, TWO = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
TEN_O_CLOCK_MS = 1_769_940_000_000


def _text(name: str) -> str:
    return (DIALECTS / name).read_text()


def test_rebalances_have_clients_threads_tasks_and_stability() -> None:
    first, second = parse_rebalances(_text("leader_3_9.log"))
    assert first.clients == (LoggedClient(ONE, 2, ("0_0", "0_1", "1_0"), ()), LoggedClient(TWO, 1, (), ("0_0",)))
    assert second.clients == (LoggedClient(TWO, 1, ("0_0", "0_1", "1_0"), ()),)
    assert first.stateful == second.stateful == {"0_0", "0_1"}
    assert (first.stable, second.stable) == (False, True)
    assert (first.at_ms, second.at_ms) == (TEN_O_CLOCK_MS + 140, TEN_O_CLOCK_MS + 600_140)
    assert first.leader == f"shop-{ONE}-StreamThread-1-consumer"


def test_single_message_format_up_to_3_4_is_parsed() -> None:
    (only,) = parse_rebalances(_text("leader_3_3.log"))
    assert only.clients == (LoggedClient(ONE, 1, ("0_0",), ()), LoggedClient(TWO, 1, ("0_1",), ()))
    assert only.stateful == {"0_0"}
    assert only.at_ms == TEN_O_CLOCK_MS + 500


def test_previous_tasks_in_logs_up_to_2_7_are_ignored() -> None:
    (only,) = parse_rebalances(_text("leader_2_6.log"))
    assert only.clients == (LoggedClient(ONE, None, ("0_0",), ("0_1",)), LoggedClient(TWO, None, ("0_1",), ()))
    assert (only.stateful, only.stable) == (None, None)


def test_log_of_a_streams_group_member_is_not_an_assignment() -> None:
    member_log = "[2026-02-01 09:59:00,000] INFO Assigned tasks with local epoch 0 and group is not ready\n"
    text = _text("leader_4_3.log")
    assert parse_rebalances(member_log + text)[0].clients == parse_rebalances(text)[0].clients
    with pytest.raises(FormatError, match="no assignments"):
        parse_rebalances(member_log)


def test_client_states_at_debug_are_not_an_assignment() -> None:
    state = "[activeTasks: ([]) standbyTasks: ([]) prevActiveTasks: ([0_0]) capacity: 2 assigned: 0]"
    debug_lines = (
        f"2026-02-01 10:00:00.124 DEBUG Constructed client metadata {{{ONE}=ClientMetadata{{hostInfo=null, "
        f"consumers=[a], state={state}}}}} from the member subscriptions.\n"
        f"2026-02-01 10:00:00.125 DEBUG Assigning tasks and 1 standby replicas to client nodes {{{ONE}={state}}}\n"
    )
    text = _text("leader_4_3.log")
    assert [rebalance.clients for rebalance in parse_rebalances(debug_lines + text + debug_lines)] == [
        rebalance.clients for rebalance in parse_rebalances(text)
    ]


@pytest.mark.parametrize("name", ["leader_3_9.log", "leader_3_3.log", "leader_2_6.log"])
def test_relevant_lines_alone_give_the_same_result(name: str) -> None:
    lines = [line for line in _text(name).split("\n") if re.search(RELEVANT_LINE, line)]
    whole, relevant = parse_rebalances(_text(name)), parse_rebalances("\n".join(lines))
    assert len(lines) < len(_text(name).split("\n"))
    assert [(rebalance.at_ms, rebalance.clients, rebalance.stateful, rebalance.stable) for rebalance in whole] == [
        (rebalance.at_ms, rebalance.clients, rebalance.stateful, rebalance.stable) for rebalance in relevant
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
def test_truncated_or_unrelated_log_is_rejected(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        parse_rebalances(text)
    assert raised.value.line == line
    assert message in str(raised.value)


def test_tasks_by_thread_are_parsed_if_logged() -> None:
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


def test_messages_before_the_result_are_not_an_assignment() -> None:
    rebalances = parse_rebalances(_text("leader_4_3.log"))
    assert [[client.process_id[0] for client in rebalance.clients] for rebalance in rebalances] == [
        ["1", "2"],
        ["1", "2", "3"],
        ["1", "3"],
    ]
