"""Kernels: hot loops written once, run as plain Python or compiled.

A kernel is a function of numbers, rows of numbers (`Vector`, `Reals`), tables of them (`Matrix`) and named tuples of
these, which it changes in place. It is written so that the same source runs as plain Python on lists, and compiled by
Numba on arrays. Whoever wants to run one asks `CHOICE` for `Kernels`, lays its data out with them, and calls
`kernels.of(kernel)`; the answers are the same either way.

Importing Numba and reading machine code from its cache takes about 0.4 s of a process (the first time after an
installation, compiling takes some 10 s). So a process works plainly until it has done about as much as loading costs,
and is compiled from then on; work that is that large by itself is never done plainly, and tiny work always is.
"""

from __future__ import annotations

import inspect
import sys
from array import array
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from types import FunctionType
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = "list[int] | array[int] | bytearray | NDArray[np.int64] | NDArray[np.uint8]"
Reals: TypeAlias = "list[float] | NDArray[np.float64]"
Matrix: TypeAlias = "list[list[int]] | NDArray[np.int64] | NDArray[np.uint8]"

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

TINY_WORK = 16
LOADING_WORK = 100_000


class Kernels:
    """One of the two ways to run kernels, and the containers that go with it."""

    def __init__(self, *, compiled: bool) -> None:
        self.compiled = compiled

    def of(self, kernel: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        """The kernel, or its compiled copy."""
        return cast(Callable[Arguments, Answer], compile_kernel(kernel)) if self.compiled else kernel

    def vector(self, values: list[int]) -> Vector:
        """A row of numbers."""
        return np.array(values, dtype=np.int64) if self.compiled else values

    def view(self, values: array[int] | bytearray) -> Vector:
        """Numbers that plain Python keeps as bytes or as an `array("q")`, to be read or changed where they are."""
        if not self.compiled:
            return values
        if isinstance(values, bytearray):
            return np.frombuffer(values, dtype=np.uint8)
        return np.frombuffer(values, dtype=np.int64)

    def reals(self, values: list[float]) -> Reals:
        """A row of floating-point numbers."""
        return np.array(values, dtype=np.float64) if self.compiled else values

    def matrix(self, values: NDArray[Any]) -> Matrix:
        """A table of numbers: the array itself if it can be used, else a copy."""
        if not self.compiled:
            table: list[list[int]] = values.tolist()
            return table
        return np.require(values, np.uint8 if values.dtype == np.bool_ else np.int64, ["C", "W"])

    def zeros(self, size: int) -> Vector:
        """A row of zeros."""
        return np.zeros(size, dtype=np.int64) if self.compiled else [0] * size

    def space(self, rows: int, columns: int) -> Matrix:
        """A table to be filled."""
        return np.empty((rows, columns), dtype=np.int64) if self.compiled else [[0] * columns for _ in range(rows)]


PLAIN = Kernels(compiled=False)
COMPILED = Kernels(compiled=True)


class KernelChoice:
    """Decides how the next piece of work is done, from what was done before."""

    def __init__(self) -> None:
        self.plain_work = 0

    def choose(self, work: int) -> Kernels:
        """The kernels for so much work, in steps of about 4 µs of plain Python."""
        if work <= TINY_WORK:
            return PLAIN
        if self.plain_work + work > LOADING_WORK:
            self.plain_work = LOADING_WORK
            return COMPILED
        self.plain_work += work
        return PLAIN


CHOICE = KernelChoice()


@cache
def compile_kernel(kernel: Callable[..., Any]) -> Any:
    """The kernel compiled by Numba, along with the kernels it calls.

    Arrays come from outside and nothing is allocated, so that references need not be counted (`_nrt`); counting them
    would take most of the time where small functions call one another with tuples of arrays. The machine code is kept
    on disk if some folder can be written to, named after the sources that went into it.
    """
    from numba import njit

    assert isinstance(kernel, FunctionType)
    modules = sorted({__name__} | {function.__module__ for function in kernels_reached(kernel)})
    sources = "".join(inspect.getsource(sys.modules[module]) for module in modules)
    options: dict[str, Any] = {"_nrt": False}
    copy = link(kernel, {}, {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True})
    copy.__qualname__ = f"{kernel.__name__}_{blake2b(sources.encode(), digest_size=6).hexdigest()}"
    try:
        return njit(cache=True, **options)(copy)
    except RuntimeError:  # no folder to keep it in can be written to
        return njit(**options)(copy)


def kernels_called(kernel: FunctionType) -> dict[str, FunctionType]:
    """The functions that a kernel calls, by the names it has for them."""
    called = {name: kernel.__globals__.get(name) for name in kernel.__code__.co_names}
    return {name: function for name, function in called.items() if isinstance(function, FunctionType)}


def kernels_reached(kernel: FunctionType) -> set[FunctionType]:
    """The kernel, and what it calls, directly or not."""
    reached, left = {kernel}, [kernel]
    while left:
        fresh = set(kernels_called(left.pop()).values()) - reached
        reached |= fresh
        left.extend(fresh)
    return reached


def link(kernel: FunctionType, linked: dict[FunctionType, Any], options: dict[str, Any]) -> FunctionType:
    """A copy of the kernel that calls compiled copies of others; these are collected in `linked`."""
    from numba import njit

    names = dict(kernel.__globals__)
    for name, function in kernels_called(kernel).items():
        if function not in linked:
            linked[function] = njit(**options)(link(function, linked, options))
        names[name] = linked[function]
    return FunctionType(kernel.__code__, names, kernel.__name__)
