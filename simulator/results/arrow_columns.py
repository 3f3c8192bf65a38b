"""Arrow columns built directly from NumPy and Python values.

`pyarrow.array` imports pandas first, which takes longer than most runs. The result tables have only four column types,
so this module writes their buffers itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assignors.model.columns import BoolArray, IntArray

_TYPES = {pa.int64(): np.int64, pa.float64(): np.float64}

_FITTING = {pa.int64(): "iu", pa.float64(): "iuf", pa.bool_(): "b"}
"""The NumPy type kinds that a column of each type accepts."""


def arrow_column(
    values: Sequence[Any] | npt.NDArray[Any], kind: pa.DataType, known: BoolArray | None = None
) -> pa.Array:
    """Build a column of integers, floats, booleans or strings.

    `values`: the values; None in a sequence is null. `kind`: int64, float64, bool or string. `known`: for an array,
    which values are not null; None for all. Raises TypeError if a value has another type.
    """
    if not isinstance(values, np.ndarray):
        filler = False if kind == pa.bool_() else 0
        filled = values
        if None in values:
            known = np.array([value is not None for value in values], dtype=np.bool_)
            filled = [filler if value is None else value for value in values]
        if kind == pa.string():
            return _texts([str.encode(value) for value in values if value is not None], known, len(values))
        values = np.array(filled) if len(filled) else np.zeros(0, dtype=type(filler))
    if values.dtype.kind not in _FITTING[kind]:
        raise TypeError(f"a column of {kind} cannot hold {values.dtype}")
    if kind == pa.bool_():
        data = np.packbits(values.astype(np.bool_), bitorder="little")
    else:
        data = np.ascontiguousarray(values, dtype=_TYPES[kind])
    return pa.Array.from_buffers(kind, len(values), [_validity(known), pa.py_buffer(data)])


def arrow_constant(value: str | int, length: int) -> pa.Array:
    """Return a column of strings or of int64 with the same value in each row."""
    if isinstance(value, int):
        return arrow_column(np.full(length, value, dtype=np.int64), pa.int64())
    encoded = value.encode()
    return _texts_at(np.arange(length + 1, dtype=np.int64) * len(encoded), encoded * length, None)


def arrow_names(names: Sequence[str], indices: IntArray) -> pa.Array:
    """Return the names at the given indices as a string column; null where an index is negative.

    Complexity: O(indices), without a Python string per index.
    """
    encoded = [name.encode() for name in names]
    known: BoolArray = indices >= 0
    return _texts([encoded[index] for index in indices[known].tolist()], known, len(indices))


def _texts(encoded: Sequence[bytes], known: BoolArray | None, length: int) -> pa.Array:
    """Return a column of texts, given those that are not null; None if none is."""
    lengths = np.zeros(length + 1, dtype=np.int64)
    lengths[1:][slice(None) if known is None else known] = list(map(len, encoded))
    return _texts_at(lengths.cumsum(), b"".join(encoded), known)


def _texts_at(offsets: IntArray, joined: bytes, known: BoolArray | None) -> pa.Array:
    if offsets[-1] >= 1 << 31:
        raise OverflowError("a string column cannot hold two gigabytes or more")
    parts = [_validity(known), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(joined)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, parts)


def _validity(known: BoolArray | None) -> pa.Buffer | None:
    if known is None or known.all():
        return None
    return pa.py_buffer(np.packbits(known, bitorder="little"))
