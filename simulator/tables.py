"""The result tables: their Arrow schemas, column by column.

A schema's field metadata says what the column means and in which unit; `docs/reference/tables.md` is made from it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def _schema(about: str, *fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    return pa.schema(
        [pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in fields],
        metadata={"about": about},
    )


_KEY = (
    ("scenario", pa.string(), "name of the scenario"),
    ("assignor", pa.string(), "label of the assignor, as the scenario or the command line gave it"),
    ("seed", pa.int64(), "seed of the run"),
)

RUNS = _schema(
    "One row a run: a scenario with one assignor and one seed.",
    *_KEY,
    ("verdict", pa.string(), "stable, probing, cycling, failed or empty"),
    ("verdict_round", pa.int64(), "the round that proves the verdict"),
    ("failure", pa.string(), "why the assignor failed, null if it did not"),
    ("rounds", pa.int64(), "rebalances in the whole run"),
    ("rounds_to_stable", pa.int64(), "rebalances after the last change up to the final assignment"),
    ("stable_after_ms", pa.int64(), "time from the last change to the final assignment, null unless stable"),
    ("active_moves", pa.int64(), "how often a task that ran on one client was given to another"),
    ("standby_moves", pa.int64(), "how often a client was given a standby or warm-up after the first round"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up"),
    ("down_ms", pa.int64(), "time in which tasks were not processed, summed over tasks, from the first assignment on"),
    ("remote_source_partitions", pa.int64(), "final: source partitions read by a client without a replica in its rack"),
    ("least_remote_source_partitions", pa.int64(), "final: a lower bound of that, which no assignment can undercut"),
    ("remote_standby_partitions", pa.int64(), "final: the same for the changelogs that standbys read"),
    ("active_cost", pa.int64(), "final: Kafka's cost of stateful actives, null where rack-aware assignment is off"),
    ("stateless_cost", pa.int64(), "final: Kafka's cost of stateless tasks"),
    ("standby_cost", pa.int64(), "final: Kafka's cost of standbys"),
    (
        "cross_rack_bytes_per_s",
        pa.float64(),
        "final: bytes per second between racks, all kinds; null if a client has no rack",
    ),
    (
        "cross_rack_bytes",
        pa.float64(),
        "bytes between racks in the whole run, restoration not counted; null if a client has no rack",
    ),
    ("load_skew", pa.float64(), "final: most minus least active + standby tasks per thread"),
    ("active_skew", pa.float64(), "final: most minus least active tasks per thread"),
    ("subtopology_skew", pa.int64(), "final: largest difference of two clients in active tasks of one subtopology"),
    ("stateful_tasks", pa.int64(), "stateful tasks of the application"),
    ("tasks_in_one_rack", pa.int64(), "final: stateful tasks all of whose copies stand in one rack"),
)

ROUNDS = _schema(
    "One row a rebalance.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance, from 1"),
    ("at_ms", pa.int64(), "when"),
    ("until_ms", pa.int64(), "until when this assignment held"),
    ("reason", pa.string(), "what called for it"),
    ("members", pa.int64(), "clients in the group"),
    ("followup_delay_ms", pa.int64(), "in how long the assignor asked for another rebalance, null if it did not"),
    ("active_moves", pa.int64(), "tasks that another client runs than the round before"),
    ("standby_moves", pa.int64(), "standbys and warm-ups that were not there the round before"),
    ("displaced_tasks", pa.int64(), "tasks that run elsewhere than in the last round of the run"),
    ("restoring_tasks", pa.int64(), "tasks that were not processed right after the rebalance"),
    ("standbys", pa.int64(), "standby and warm-up copies"),
    ("remote_source_partitions", pa.int64(), "source partitions read by a client without a replica in its rack"),
    ("least_remote_source_partitions", pa.int64(), "a lower bound of that, which no assignment can undercut"),
    ("remote_standby_partitions", pa.int64(), "the same for the changelogs that standbys read"),
    ("active_cost", pa.int64(), "Kafka's cost of stateful actives, null where rack-aware assignment is off"),
    ("stateless_cost", pa.int64(), "Kafka's cost of stateless tasks"),
    ("standby_cost", pa.int64(), "Kafka's cost of standbys"),
    (
        "cross_rack_bytes_per_s",
        pa.float64(),
        "bytes per second between racks while the assignment holds; null if a client has no rack",
    ),
    ("load_skew", pa.float64(), "most minus least active + standby tasks per thread"),
    ("active_skew", pa.float64(), "most minus least active tasks per thread"),
    ("subtopology_skew", pa.int64(), "largest difference of two clients in active tasks of one subtopology"),
    ("tasks_in_one_rack", pa.int64(), "stateful tasks all of whose copies stand in one rack"),
)

ASSIGNMENTS = _schema(
    "One row a copy of a task in a round.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("task", pa.string(), "task id"),
    ("client", pa.string(), "name of the client"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
)

MOVES = _schema(
    "One row a task that changed its place from one round to the next.",
    *_KEY,
    ("round", pa.int64(), "the round in which it came to its new place"),
    ("at_ms", pa.int64(), "when"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby"),
    ("from_client", pa.string(), "who ran it before; null if nobody did, and for standbys, which come from nowhere"),
    ("to_client", pa.string(), "who has it now, null if nobody runs it"),
)

TRAFFIC = _schema(
    "One row a kind of traffic and a pair of racks in a round.",
    *_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("kind", pa.string(), "source_read, changelog_write or standby_read"),
    ("from_rack", pa.string(), "where the bytes come from, null if that has no rack"),
    ("to_rack", pa.string(), "where they go, null if that has no rack"),
    ("bytes_per_s", pa.float64(), "bytes per second while the assignment holds"),
)

EVENTS = _schema(
    "One row a change that the scenario made.",
    *_KEY,
    ("at_ms", pa.int64(), "when"),
    ("event", pa.string(), "what happened"),
)

SCHEMAS: dict[str, pa.Schema] = {
    "runs": RUNS,
    "rounds": ROUNDS,
    "assignments": ASSIGNMENTS,
    "moves": MOVES,
    "traffic": TRAFFIC,
    "events": EVENTS,
}
"""Every result table by its name."""


def joined(parts: Iterable[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """Put the tables of several runs one below the other, in the order given."""
    every = list(parts)
    return {
        name: pa.concat_tables([part[name] for part in every]) if every else schema.empty_table()
        for name, schema in SCHEMAS.items()
    }
