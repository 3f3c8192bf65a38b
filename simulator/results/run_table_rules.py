"""The rules of the result tables of runs: nulls, values, keys, and references between tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from simulator.results.table_checks import Reference, TableRules
from simulator.results.tables import SCHEMAS
from simulator.results.verdict import Verdict

RUN: Final = ("scenario", "assignor", "seed")
"""The columns that identify a run."""

_VERDICTS: Final = frozenset(map(str, Verdict))
_ROLES: Final = frozenset({"active", "standby"})
_SCALERS: Final = frozenset({"HPA", "KEDA"})
_STATES: Final = frozenset({"unassigned", "assigned", "restoring", "running", "blocked", "revoked"})
_MOVE_REASONS: Final = frozenset(
    name.removeprefix("moves_") for name in SCHEMAS["runs"].names if name.startswith("moves_")
)
_NEVER_NULL_IN_RUNS: Final = frozenset((*RUN, "verdict"))
_NEVER_NULL_IN_REASONS: Final = frozenset((*RUN, "round", "task", "role", "step", "kind"))
_NEVER_NULL_IN_NEIGHBORS: Final = frozenset((*RUN, "application", "neighbor", "verdict"))
_UNKNOWN_WITHOUT_RACKS: Final = frozenset(
    name for name in SCHEMAS["rounds"].names if name.startswith("cross_rack_") or name.endswith("_rack_redundancy")
)
_COSTS: Final = frozenset(
    (
        "stateful_cost",
        "stateless_cost",
        "standby_cost",
        "total_cost",
        "total_cost_bound",
        "worst_total_cost",
        "worst_total_cost_bound",
    )
)


def _all_but(table: str, never_null: frozenset[str]) -> frozenset[str]:
    return frozenset(SCHEMAS[table].names) - never_null


RULES: Final[Mapping[str, TableRules]] = MappingProxyType(
    {
        "runs": TableRules(_all_but("runs", _NEVER_NULL_IN_RUNS), {"verdict": _VERDICTS}, _COSTS, RUN),
        "rounds": TableRules(_COSTS | _UNKNOWN_WITHOUT_RACKS | {"followup_delay_ms"}, {}, _COSTS, (*RUN, "round")),
        "tasks": TableRules(frozenset({"unqueryable_ms"}), key=(*RUN, "task")),
        "assignments": TableRules(values={"role": _ROLES}, key=(*RUN, "round", "task", "client")),
        "moves": TableRules(
            frozenset({"from_client", "to_client", "reason"}),
            {"role": _ROLES, "reason": _MOVE_REASONS},
        ),
        "task_states": TableRules(frozenset({"client"}), {"state": _STATES}),
        "traffic": TableRules(frozenset({"from_rack", "to_rack"})),
        "other_traffic": TableRules(frozenset({"name", "from_rack", "to_rack"})),
        "clients": TableRules(frozenset({"rack", "from_round", "until_round"})),
        "reasons": TableRules(
            _all_but("reasons", _NEVER_NULL_IN_REASONS),
            {"role": _ROLES},
            frozenset({"lag_from", "lag_to", "acceptable_lag", "break_even", "held", "room"}),
        ),
        "cycles": TableRules(
            frozenset({"cycle_break_even"}),
            {"role": _ROLES},
            frozenset({"traffic_from", "traffic_to", "non_overlap_cost", "cost", "cycle_cost", "cycle_break_even"}),
        ),
        "proofs": TableRules(
            signed=frozenset({"total_cost_bound", "relaxed_total_cost_bound", "best_known_total_cost"}),
            key=(*RUN, "round"),
        ),
        "thread_loads": TableRules(frozenset({"max_records_per_s", "behind_since_ms"}), key=(*RUN, "client", "thread")),
        "losses": TableRules(),
        "unavailable_partitions": TableRules(),
        "events": TableRules(frozenset({"number"})),
        "convergence": TableRules(
            frozenset({"time_to_converge_ms", "cut_short_by"}), {"verdict": _VERDICTS}, key=(*RUN, "number")
        ),
        "scaling": TableRules(values={"scaler": _SCALERS}),
        "scaled_rounds": TableRules(values={"scaler": _SCALERS}),
        "time_ranges": TableRules(
            _all_but("time_ranges", frozenset((*RUN, "uncertainty"))), signed=frozenset({"caught_up_after_ms"})
        ),
        "neighbors": TableRules(_all_but("neighbors", _NEVER_NULL_IN_NEIGHBORS), {"verdict": _VERDICTS}),
    }
)
"""The rules of each table in `SCHEMAS`."""


def _references() -> Iterator[Reference]:
    for table in SCHEMAS:
        if table != "runs":
            yield Reference(table, RUN, "runs", RUN)
    for table in ("assignments", "moves", "traffic", "reasons", "cycles", "proofs", "scaled_rounds"):
        yield Reference(table, (*RUN, "round"), "rounds", (*RUN, "round"))
    for column in ("deciding_round", "worst_cost_round"):
        yield Reference("runs", (*RUN, column), "rounds", (*RUN, "round"))
    for table in ("assignments", "moves", "task_states", "reasons", "cycles"):
        yield Reference(table, (*RUN, "task"), "tasks", (*RUN, "task"))
    clients = {
        "assignments": ("client",),
        "moves": ("from_client", "to_client"),
        "task_states": ("client",),
        "thread_loads": ("client",),
        "reasons": ("from_client", "to_client", "step_from", "step_to"),
        "cycles": ("from_client", "to_client"),
    }
    for table, columns in clients.items():
        for column in columns:
            yield Reference(table, (*RUN, column), "clients", (*RUN, "client"))
    yield Reference("reasons", (*RUN, "round", "cycle"), "cycles", (*RUN, "round", "cycle"))
    yield Reference("convergence", (*RUN, "cut_short_by"), "convergence", (*RUN, "number"))


REFERENCES: Final = tuple(_references())
"""References between the tables in `SCHEMAS`, on which their readers rely."""
