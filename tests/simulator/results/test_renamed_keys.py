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
)
from simulator.results.result_directory import read_results, write_results
from simulator.results.tables import SCHEMAS


def test_old_keys_are_no_current_columns() -> None:
    columns = {name for schema in SCHEMAS.values() for name in schema.names}
    assert not columns & set(RENAMED_KEYS)
    assert not set(SCHEMAS["runs"].names) & set(RENAMED_RUN_KEYS)
    assert set(RENAMED_TABLES.values()) <= set(SCHEMAS)


def test_old_result_directory_is_read_with_a_warning(tmp_path: Path) -> None:
    directory = tmp_path / "results"
    runs = pa.table({"seed": [1], "rounds": [3], "down_ms": [5], "remote_source_partitions": [7]})
    write_results(directory, {"runs": runs, "lives": pa.table({"task": ["0_0"]})}, {"seed": 1})
    with pytest.warns(RenamedKeysWarning, match=r"results: .*down_ms, lives, remote_source_partitions.*0\.3\.0"):
        tables, _ = read_results(directory)
    assert tables["runs"].column_names == ["seed", "rebalances", "downtime_ms", "cross_rack_source_partitions"]
    assert tables["runs"].to_pylist() == [
        {"seed": 1, "rebalances": 3, "downtime_ms": 5, "cross_rack_source_partitions": 7}
    ]
    assert tables["task_states"].to_pylist() == [{"task": "0_0"}]


def test_old_values_of_reasons_are_read_as_the_current_ones_with_a_warning(tmp_path: Path) -> None:
    reasons = pa.table({"kind": ["there", "untold", "rack"], "no_break_even": ["untold", "not_asked", None]})
    write_results(tmp_path / "results", {"reasons": reasons}, {"seed": 1})
    with pytest.warns(RenamedKeysWarning, match="not_asked, there, untold"):
        tables, _ = read_results(tmp_path / "results")
    assert tables["reasons"].to_pydict() == {
        "kind": ["initial", "not_recorded", "rack"],
        "no_break_even": ["not_recorded", "not_requested", None],
    }


@pytest.mark.filterwarnings("error")
def test_current_results_are_read_without_a_warning(tmp_path: Path) -> None:
    tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    write_results(tmp_path / "results", tables, {"seed": 1})
    assert read_results(tmp_path / "results")[0] == tables


def test_interval_bounds_are_renamed_like_their_metric() -> None:
    table, old = rename_columns(pa.table({"down_ms": [1.0], "down_ms_low": [0.5], "mean": [2.0]}))
    assert table.column_names == ["downtime_ms", "downtime_ms_low", "mean"]
    assert old == ["down_ms", "down_ms_low"]


def test_record_keeps_its_order_and_current_keys() -> None:
    record, old = rename_keys({"b": 1, "down_ms": 2, "downtime_ms": 3, "computing_ms": 4})
    assert list(record.items()) == [("b", 1), ("down_ms", 2), ("downtime_ms", 3), ("leader_compute_ms", 4)]
    assert old == ["computing_ms"]
