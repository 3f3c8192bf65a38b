"""The distribution of a client's tasks over its threads equals Kafka's, and follows its rules.

`threads.jsonl.gz` contains the assignments of Kafka 4.3.1 for 150 random clients, and for 6 that a rare rule decides.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.java.hash_order import task_hash
from assignors.model.ids import TaskId
from assignors.tasks.thread_assignment import ClientTasks, ThreadTasks, assign_to_threads, in_text_order
from tools.kafka_oracle import threads

DATA = Path(__file__).parents[2] / "tools" / "kafka_oracle" / "data" / "threads.jsonl.gz"

IDS = [TaskId(subtopology, partition) for subtopology in range(4) for partition in range(40)]
HASHES = [task_hash(task) for task in IDS]
ROWS = range(len(IDS))
RUNNING = dict.fromkeys(ROWS, -2)

Previous = list[list[int]]


def assign(client: ClientTasks, previous: Previous, lags: dict[int, int] = RUNNING, **options: bool) -> ThreadTasks:
    return assign_to_threads(client, previous, lags, HASHES, **options)


def stateful(*rows: int) -> ClientTasks:
    return ClientTasks(rows, (), ())


def held(tasks: ThreadTasks) -> Previous:
    return [active + standby for active, standby in zip(*tasks, strict=True)]


def test_recorded_assignments_match_kafka() -> None:
    recorded = threads.read(DATA)
    wrong = [pair["problem"]["id"] for pair in recorded if threads.our_answer(pair["problem"]) != pair["expected"]]
    assert len(recorded) == 156
    assert not wrong


def test_thread_10_sorts_before_thread_2() -> None:
    assert [thread + 1 for thread in in_text_order(12)] == [1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9]
    active = assign(stateful(0, 1, 2), [[]] * 11).active
    assert {thread + 1: tasks for thread, tasks in enumerate(active) if tasks} == {1: [0], 10: [1], 11: [2]}


@pytest.mark.parametrize(
    ("client", "previous", "lags", "active"),
    [
        pytest.param(stateful(0, 1, 2, 3), [[], []], {}, [[0, 2], [1, 3]], id="new tasks are assigned round-robin"),
        pytest.param(stateful(0, 1, 2, 3), [[2, 3], []], {}, [[2, 3], [0, 1]], id="a thread keeps its previous tasks"),
        pytest.param(stateful(0, 1), [[0, 1], []], {0: 0, 1: -2}, [[1], [0]], id="within its share, lowest lag first"),
        pytest.param(stateful(0, 1), [[1, 0], []], {0: 0, 1: 0}, [[0], [1]], id="equal lags: lowest id first"),
        pytest.param(
            stateful(0, 1, 2), [[], [0, 2]], {}, [[1], [0, 2]], id="an additional task stays with its previous thread"
        ),
        pytest.param(stateful(0, 1, 2), [[], [0, 1, 2]], {}, [[1], [0, 2]], id="a task beyond the share may move"),
        pytest.param(stateful(0, 1), [[0], [0, 1]], {}, [[0], [1]], id="two claims: the first thread keeps the task"),
        pytest.param(
            stateful(0), [[0], [0], []], {}, [[], [0], []], id="fewer tasks than threads: the last claim counts"
        ),
        pytest.param(stateful(0, 1), [[5, 1], [7]], {}, [[1], [0]], id="tasks that are removed do not matter"),
        pytest.param(ClientTasks((), (0, 1), ()), [[1], [0]], {}, [[0], [1]], id="stateless tasks are not sticky"),
    ],
)
def test_active_tasks(client: ClientTasks, previous: Previous, lags: dict[int, int], active: Previous) -> None:
    assert assign(client, previous, RUNNING | lags).active == active


def test_standbys_balance_active_tasks_and_stateless_tasks_balance_both() -> None:
    assignment = assign(ClientTasks((0,), (1,), (2,)), [[], [], []])
    assert assignment == ThreadTasks([[0], [], [1]], [[], [2], []])


def test_task_that_changes_its_role_stays_on_its_thread_only_within_its_share() -> None:
    before = assign(ClientTasks((0,), (), (1,)), [[], []])
    assert before == ThreadTasks([[0], []], [[], [1]])
    assert assign(ClientTasks((1,), (), (0,)), held(before)) == ThreadTasks([[], [1]], [[0], []])
    assert assign(ClientTasks((0, 1), (), (2,)), [[0, 1], [2]]).active == [[0], [1]]


@st.composite
def clients(draw: st.DrawFn) -> tuple[ClientTasks, Previous]:
    """Draw a client: its tasks, and the previous tasks that its threads report, some of them more than once."""
    rows = draw(st.lists(st.sampled_from(ROWS), unique=True, max_size=40))
    first, second = sorted(draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    client = ClientTasks(rows[:first], rows[first:second], rows[second:])
    some = st.lists(st.sampled_from(ROWS), unique=True, max_size=12)
    return client, draw(st.lists(some, min_size=1, max_size=12))


lags_of_all = st.lists(st.sampled_from([-3, -2, 0, 1, 500]), min_size=len(ROWS), max_size=len(ROWS))


@given(clients(), lags_of_all, st.booleans())
def test_every_task_is_assigned_once_and_threads_differ_by_at_most_one(
    client: tuple[ClientTasks, Previous], lags: list[int], pluggable: bool
) -> None:
    tasks, previous = client
    active, standby = assign_to_threads(tasks, previous, lags, HASHES, pluggable=pluggable)
    assert sorted(chain(*active)) == sorted([*tasks.stateful, *tasks.stateless])
    assert sorted(chain(*standby)) == sorted(tasks.standby)
    stateful_counts = [len(set(own) & set(tasks.stateful)) for own in active]
    with_standbys = [number + len(own) for number, own in zip(stateful_counts, standby, strict=True)]
    for load in (stateful_counts, with_standbys, [len(own) for own in held(ThreadTasks(active, standby))]):
        assert max(load) - min(load) <= 1


@given(clients(), lags_of_all, lags_of_all, st.booleans(), st.lists(st.sampled_from(ROWS)))
def test_unchanged_tasks_of_a_client_stay_on_their_threads(
    client: tuple[ClientTasks, Previous], before: list[int], after: list[int], pluggable: bool, on_disk: list[int]
) -> None:
    tasks, previous = client
    first = assign_to_threads(tasks, previous, before, HASHES, pluggable=pluggable)
    assigned = {*tasks.stateful, *tasks.standby}
    removed = [row for row in on_disk if row not in assigned]
    reported = [own + removed for own in held(first)]
    assert assign_to_threads(tasks, reported, after, HASHES, pluggable=pluggable) == first


def test_unchanged_tasks_move_if_claimed_twice_or_if_a_thread_is_new() -> None:
    client = stateful(0, 1, 2)
    first = assign(client, [[], []])
    assert first.active == [[0, 2], [1]]
    assert assign(client, [[0, 1, 2], [1]], {0: 5, 1: 0, 2: 5}).active == [[1, 2], [0]]
    assert assign(client, [*held(first), []]).active == [[0], [1], [2]]
