"""The Arrow schemas of the tables that explain assignments: reasons, cycles and proofs."""

from __future__ import annotations

import pyarrow as pa

from simulator.results.table_schema import RUN_KEY, table_schema

REASONS = table_schema(
    "One row per step of a copy that moved in a round; empty unless explanations were requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the round; in the first, every copy is new"),
    ("task", pa.string(), "task id"),
    ("role", pa.string(), "active or standby; a warm-up is a standby"),
    ("from_client", pa.string(), "client that ran it in the round before; null if none, and for standbys"),
    ("to_client", pa.string(), "client that has it after the round"),
    ("step", pa.int64(), "number of the step, from 1; the last one ends at to_client"),
    ("kind", pa.string(), "kind of the step; see the explanation of reasons"),
    ("step_from", pa.string(), "client that had the copy before the step, null if none"),
    ("step_to", pa.string(), "client that has it after the step, null if none"),
    (
        "load_from",
        pa.float64(),
        "tasks per thread of step_from before the step; null if the step does not depend on loads",
    ),
    (
        "load_to",
        pa.float64(),
        "tasks per thread of step_to before the step; only active tasks if the kind is fewest_actives",
    ),
    ("load_from_after", pa.float64(), "tasks per thread of step_from after a balancing step"),
    ("load_to_after", pa.float64(), "tasks per thread of step_to after a balancing step"),
    (
        "held",
        pa.int64(),
        "tasks of step_to, or of its thread in a streams group, before the step; null if the step has no limit",
    ),
    ("room", pa.int64(), "maximum of held"),
    ("lag_from", pa.int64(), "lag of step_from in records, if the step depends on lags; -2 if it runs, -3 if unknown"),
    ("lag_to", pa.int64(), "lag of step_to in records; null, -2 and -3 as in lag_from"),
    ("acceptable_lag", pa.int64(), "acceptable.recovery.lag, if the step depends on lags"),
    ("tags", pa.string(), "rack.aware.assignment.tags of step_to, if the step depends on tags"),
    ("cycle", pa.int64(), "number of the cycle of the step, as in the table cycles; null if none"),
    (
        "break_even",
        pa.int64(),
        "for active tasks: the rack.aware.assignment.non_overlap_cost closest to the current one at which it stays",
    ),
    (
        "no_break_even",
        pa.string(),
        "why there is no break_even: new, member_lost, no_racks, any_cost or not_recorded; not_requested if none was",
    ),
)

CYCLES = table_schema(
    "One row per move of a cycle along which rack-aware optimization moved tasks; empty unless requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    ("cycle", pa.int64(), "number of the cycle in the round, from 1"),
    (
        "edge",
        pa.int64(),
        "number of the move in the cycle, from 1; it starts at the client where the previous move ends",
    ),
    ("role", pa.string(), "active or standby"),
    ("task", pa.string(), "task id"),
    ("from_client", pa.string(), "client that had the task before"),
    ("to_client", pa.string(), "client that has it after"),
    ("traffic_from", pa.int64(), "traffic cost of the task on from_client, by rack.aware.assignment.traffic_cost"),
    ("traffic_to", pa.int64(), "traffic cost of the task on to_client"),
    ("non_overlap_cost", pa.int64(), "cost of moving it"),
    ("cost", pa.int64(), "change of the total cost: traffic_to - traffic_from + non_overlap_cost"),
    (
        "cycle_cost",
        pa.int64(),
        "sum over the cycle; negative if it saves, otherwise the price of balanced subtopologies",
    ),
    (
        "cycle_break_even",
        pa.int64(),
        "smallest non_overlap_cost at which the cycle saves nothing; null if it saves nothing now",
    ),
)

PROOFS = table_schema(
    "One row per round whose total_cost_bound was proven by an exact search; empty unless requested.",
    *RUN_KEY,
    ("round", pa.int64(), "number of the rebalance"),
    (
        "total_cost_bound",
        pa.int64(),
        "as in the table rounds: relaxed_total_cost_bound, raised to the proven bound",
    ),
    (
        "relaxed_total_cost_bound",
        pa.int64(),
        "lower bound by flows; equal to total_cost_bound if no proof was requested",
    ),
    (
        "best_known_total_cost",
        pa.int64(),
        "lowest known cost of the assignments that the bound covers; the proven optimum if equal to total_cost_bound",
    ),
)
