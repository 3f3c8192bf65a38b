"""Columns made without pandas are those that pyarrow makes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from simulator.results.arrow_columns import arrow_column, arrow_names


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
def test_a_column_of_values_is_that_of_pyarrow(kind: pa.DataType, values: list[Any]) -> None:
    made = arrow_column(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))
    assert made.null_count == values.count(None)


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_])
def test_a_column_of_an_array_is_that_of_pyarrow(kind: type) -> None:
    values, known = np.array([3, 0, 1, 2] * 9).astype(kind), np.array([True, False, True] * 12)
    of = {np.int64: pa.int64(), np.float64: pa.float64(), np.bool_: pa.bool_()}[kind]
    assert arrow_column(values, of).equals(pa.array(values))
    assert arrow_column(values, of, known).equals(pa.array(values, mask=~known))


@pytest.mark.parametrize(("kind", "values"), [(pa.int64(), [1.5]), (pa.bool_(), [1]), (pa.float64(), [True])])
def test_a_value_of_another_type_is_refused(kind: pa.DataType, values: list[Any]) -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        arrow_column(values, kind)


def test_names_stand_where_their_places_are() -> None:
    made = arrow_names(["eins", "zwei", "drei"], np.array([2, -1, 0, 0, 1]))
    made.validate(full=True)
    assert made.to_pylist() == ["drei", None, "eins", "eins", "zwei"]
    assert arrow_names([], np.zeros(0, dtype=np.int64)).to_pylist() == []


def test_no_pandas_is_needed() -> None:
    program = (
        "import sys, numpy, pyarrow\n"
        "from simulator.results.arrow_columns import arrow_column, arrow_names\n"
        "arrow_column([1, None], pyarrow.int64()); arrow_names(['a'], numpy.array([0, -1]))\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
