"""Replicas as lists, and back."""

from __future__ import annotations

import numpy as np

from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, replica_lists, replica_table, rows_by_topic


def test_lists_become_a_table_as_wide_as_the_longest() -> None:
    broker_states = [BrokerState(7), BrokerState(5), BrokerState(9)]
    state = ClusterState.of(broker_states, {("a", 0): [9], ("b", 0): [5, 7, 9], ("a", 1): [7, 5]})
    lists = replica_lists(state)
    assert lists == [[2], [1, 0, 2], [0, 1]]
    assert np.array_equal(replica_table(lists), state.replicas)
    assert replica_table([[1], []]).tolist() == [[1], [NO_BROKER]]
    assert replica_table([]).shape == (0, 0)


def test_rows_of_a_topic_keep_input_order_and_empty_topics_are_omitted() -> None:
    state = ClusterState.of([BrokerState(0)], {("b", 1): [0], ("c", 0): [0], ("a", 0): [0], ("b", 0): [0]})
    assert list(rows_by_topic(state)) == [("b", [0, 3]), ("c", [1]), ("a", [2])]
    assert list(rows_by_topic(state.take(np.array([3, 2, 0])))) == [("b", [0, 2]), ("a", [1])]
