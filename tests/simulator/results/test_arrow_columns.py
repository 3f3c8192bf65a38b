"""Columns that are built without pandas equal those of pyarrow."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from simulator.results.tabulation import arrow_column, arrow_names


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [1, None, -5, 2**62]),
        (pa.int64(), []),
        (pa.int64(), [None, None]),
        (pa.float64(), [1.5, None, 2, float("inf")]),
        (pa.float64(), [None]),
        (pa.bool_(), [True, None, False] * 5),
        (pa.bool_(), []),
        (pa.string(), ["a", None, "", "größer", "日本"]),
        (pa.string(), [None]),
        (pa.string(), []),
    ],
)
def test_column_of_values_equals_pyarrow(kind: pa.DataType, values: list[Any]) -> None:
    column = arrow_column(values, kind)
    column.validate(full=True)
    assert column.equals(pa.array(values, kind))
    assert column.null_count == values.count(None)


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_])
def test_column_of_array_equals_pyarrow(kind: type) -> None:
    values, known = np.array([3, 0, 1, 2] * 9).astype(kind), np.array([True, False, True] * 12)
    arrow_type = {np.int64: pa.int64(), np.float64: pa.float64(), np.bool_: pa.bool_()}[kind]
    assert arrow_column(values, arrow_type).equals(pa.array(values))
    assert arrow_column(values, arrow_type, known).equals(pa.array(values, mask=~known))


@pytest.mark.parametrize(("kind", "values"), [(pa.int64(), [1.5]), (pa.bool_(), [1]), (pa.float64(), [True])])
def test_value_of_another_type_is_rejected(kind: pa.DataType, values: list[Any]) -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        arrow_column(values, kind)


def test_names_are_looked_up_by_index() -> None:
    column = arrow_names(["one", "two", "three"], np.array([2, -1, 0, 0, 1]))
    column.validate(full=True)
    assert column.to_pylist() == ["three", None, "one", "one", "two"]
    assert arrow_names([], np.zeros(0, dtype=np.int64)).to_pylist() == []


def test_columns_are_built_without_pandas() -> None:
    program = (
        "import sys, numpy, pyarrow\n"
        "from simulator.results.tabulation import arrow_column, arrow_names\n"
        "arrow_column([1, None], pyarrow.int64()); arrow_names(['a'], numpy.array([0, -1]))\n"
        "print('pandas' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"
