"""Keys of results that were renamed: readers accept the old ones until release 0.3.0.

Every reader of results (result directories, stored results, aggregates of sweeps, plan folders) maps old keys here, so
that the rest of the code knows the current ones only.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

REMOVED_IN: Final = "0.3.0"
"""The release that no longer reads the old keys."""

RENAMED_TABLES: Final[Mapping[str, str]] = MappingProxyType({"lives": "task_states"})
"""Old names of tables and their current ones."""

RENAMED_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "active_cost": "stateful_cost",
        "again_leaders_changed": "rerun_leaders_changed",
        "again_replicas_moved": "rerun_replicas_moved",
        "asked_at_ms": "requested_at_ms",
        "at_least_ms": "observed_ms",
        "cheapest_total_cost": "best_known_total_cost",
        "computing_ms": "leader_compute_ms",
        "down_ms": "downtime_ms",
        "gap_partitions": "cross_rack_source_partitions_above_bound",
        "gap_percent": "cross_rack_source_partitions_above_bound_percent",
        "least_remote_source_partitions": "cross_rack_source_partitions_bound",
        "least_replicas_moved": "replicas_moved_bound",
        "least_ms": "min_copy_ms",
        "least_total_cost": "total_cost_bound",
        "mean_down_ms": "mean_downtime_ms",
        "mean_least_total_cost": "mean_total_cost_bound",
        "most_waiting_ms": "max_processing_delay_ms",
        "not_at_rest": "not_converged",
        "out_of_reach_ms": "unqueryable_ms",
        "p99_down_ms": "p99_downtime_ms",
        "relaxed_total_cost": "relaxed_total_cost_bound",
        "remote_source_partitions": "cross_rack_source_partitions",
        "remote_standby_partitions": "cross_rack_standby_partitions",
        "rounds_to_stable": "rebalances_to_converge",
        "stable_after_ms": "time_to_converge_ms",
        "tasks_in_one_rack": "tasks_without_rack_redundancy",
        "tasks_in_one_rack_percent": "tasks_without_rack_redundancy_percent",
        "worst_down_ms": "worst_downtime_ms",
        "worst_least_total_cost": "worst_total_cost_bound",
        "worst_two_client_loss": "worst_pair_loss",
    }
)
"""Old keys (columns, metrics, figures) and their current ones, in all tables."""

RENAMED_RUN_KEYS: Final[Mapping[str, str]] = MappingProxyType({**RENAMED_KEYS, "rounds": "rebalances"})
"""The same for the table `runs`."""

RENAMED_VALUES: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "reasons": {
            "kind": {"there": "initial", "untold": "not_recorded"},
            "no_break_even": {"not_asked": "not_requested", "untold": "not_recorded"},
        }
    }
)
"""Old values and their current ones, by table and column."""

_SUFFIXES = ("_low", "_high")


class RenamedKeysWarning(FutureWarning):
    """Results that use old keys were read."""


def warn_of_old_keys(source: str, old: Iterable[str]) -> None:
    """Warn that a file or directory uses old keys; do nothing if there are none.

    `source`: the file or directory, as messages name it; `old`: the old keys or tables that it uses.
    """
    names = sorted(set(old))
    if names:
        message = (
            f"{source}: written by an earlier release with keys that have been renamed since ({', '.join(names)}). "
            f"They are read as the current ones until release {REMOVED_IN}; write the results again to update them."
        )
        warnings.warn(message, RenamedKeysWarning, stacklevel=3)


def rename_keys(
    record: Mapping[str, Any], renamed: Mapping[str, str] = RENAMED_KEYS
) -> tuple[dict[str, Any], list[str]]:
    """Return a record with current keys in the same order, and the old keys that it had.

    A record that has a current key as well as its old one keeps both as they are.
    """
    old = [key for key in record if key in renamed and renamed[key] not in record]
    return {renamed[key] if key in old else key: value for key, value in record.items()}, old


def rename_columns(table: pa.Table, renamed: Mapping[str, str] = RENAMED_KEYS) -> tuple[pa.Table, list[str]]:
    """Return a table with current column names, and the old names that it had.

    The bounds of intervals are renamed, too: `down_ms_low` becomes `downtime_ms_low`. `table`: any table of results.
    """
    present = set(table.column_names)
    all_renamed = {**renamed, **{key + suffix: new + suffix for key, new in renamed.items() for suffix in _SUFFIXES}}
    old = [name for name in table.column_names if name in all_renamed and all_renamed[name] not in present]
    return (
        (table.rename_columns([all_renamed[n] if n in old else n for n in table.column_names]), old)
        if old
        else (table, [])
    )


def rename_values(table: pa.Table, renamed: Mapping[str, Mapping[str, str]]) -> tuple[pa.Table, list[str]]:
    """Return a table with current values in its text columns, and the old values that it had.

    `table`: any table of results.
    """
    import pyarrow as pa

    old_values: list[str] = []
    for name in [name for name in table.column_names if name in renamed and pa.types.is_string(table[name].type)]:
        old = sorted(renamed[name].keys() & set(table[name].unique().to_pylist()))
        if old:
            position, field = table.column_names.index(name), table.schema.field(name)
            values = [renamed[name].get(value, value) for value in table[name].to_pylist()]
            table = table.set_column(position, field, pa.array(values, field.type))
            old_values += old
    return table, old_values


def rename_tables(tables: Mapping[str, pa.Table], source: str) -> dict[str, pa.Table]:
    """Return the tables of a result directory with current names, columns and values; warn if any were old."""
    current: dict[str, pa.Table] = {}
    all_old: list[str] = []
    for name, table in tables.items():
        new_name = RENAMED_TABLES.get(name, name)
        if new_name in tables:
            new_name = name
        if new_name != name:
            all_old.append(name)
        current[new_name], old = rename_columns(table, RENAMED_RUN_KEYS if name == "runs" else RENAMED_KEYS)
        current[new_name], old_values = rename_values(current[new_name], RENAMED_VALUES.get(new_name, {}))
        all_old += [*old, *old_values]
    warn_of_old_keys(source, all_old)
    return current
