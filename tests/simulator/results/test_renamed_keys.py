"""Results with keys of the last release are read with current keys and a warning."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from simulator.results.renamed_keys import (
    RENAMED_KEYS,
    RENAMED_RUN_KEYS,
    RENAMED_TABLES,
    RenamedKeysWarning,
    rename_columns,
    rename_keys,
    rename_tables,
)
from simulator.results.result_directory import read_results, write_results
from simulator.results.tables import SCHEMAS
from tests.simulator.results.test_result_directory import MANIFEST, run_tables


def test_old_keys_are_no_current_columns() -> None:
    columns = {name for schema in SCHEMAS.values() for name in schema.names}
    assert not columns & set(RENAMED_KEYS)
    assert not set(SCHEMAS["runs"].names) & set(RENAMED_RUN_KEYS)
    assert set(RENAMED_TABLES.values()) <= set(SCHEMAS)


def test_old_result_directory_is_read_with_a_warning(tmp_path: Path) -> None:
    directory, current = tmp_path / "results", run_tables()
    old = {"rebalances": "rounds", "downtime_ms": "down_ms", "cross_rack_source_partitions": "remote_source_partitions"}
    names = [old.get(name, name) for name in current["runs"].column_names]
    tables = {**current, "runs": current["runs"].rename_columns(names), "lives": current["task_states"]}
    del tables["task_states"]
    write_results(directory, tables, MANIFEST)
    with pytest.warns(RenamedKeysWarning, match=r"results: .*down_ms, lives, remote_source_partitions.*0\.3\.0"):
        read, _ = read_results(directory)
    assert all(read[name].equals(current[name]) for name in current)


def test_old_values_of_reasons_are_read_as_the_current_ones_with_a_warning() -> None:
    reasons = pa.table({"kind": ["there", "untold", "rack"], "no_break_even": ["untold", "not_asked", None]})
    with pytest.warns(RenamedKeysWarning, match="not_asked, there, untold"):
        tables = rename_tables({"reasons": reasons}, "results")
    assert tables["reasons"].to_pydict() == {
        "kind": ["initial", "not_recorded", "rack"],
        "no_break_even": ["not_recorded", "not_requested", None],
    }


@pytest.mark.filterwarnings("error")
def test_current_results_are_read_without_a_warning(tmp_path: Path) -> None:
    tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    write_results(tmp_path / "results", tables, MANIFEST)
    assert read_results(tmp_path / "results")[0] == tables


def test_interval_bounds_are_renamed_like_their_metric() -> None:
    table, old = rename_columns(pa.table({"down_ms": [1.0], "down_ms_low": [0.5], "mean": [2.0]}))
    assert table.column_names == ["downtime_ms", "downtime_ms_low", "mean"]
    assert old == ["down_ms", "down_ms_low"]


def test_record_keeps_its_order_and_current_keys() -> None:
    record, old = rename_keys({"b": 1, "down_ms": 2, "downtime_ms": 3, "computing_ms": 4})
    assert list(record.items()) == [("b", 1), ("down_ms", 2), ("downtime_ms", 3), ("leader_compute_ms", 4)]
    assert old == ["computing_ms"]
