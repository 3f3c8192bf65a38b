"""Kernels: hot loops with one source that run as plain Python or compiled by Numba.

A kernel is a function of numbers, rows of numbers (`Vector`, `Reals`), tables of numbers (`Matrix`) and named tuples,
which it changes in place. The same source runs as plain Python on lists, and compiled on arrays. To run one, get
`Kernels` from `CHOICE`, create the data with them, and call `kernels.of(kernel)`. The result is the same either way.

Importing Numba and loading machine code from its cache takes about 0.4 s (compilation about 10 s, once after an
installation). A process therefore uses plain Python until it has done about as much work as loading costs, and compiled
code from then on. Work that is as large by itself is always compiled; tiny work never is.

Plain `numba.njit(cache=True)` was measured and rejected (CPU time, warm cache, 2 cores of an AMD EPYC): it counts
references to arrays at each call between kernels, which takes most of the time where small kernels pass tuples of
arrays. The second rebalance of `scale-ha-large_num_consumers` took 0.33 s instead of 0.046 s, `balance_subtopology`
with 2,000 tasks x 100 clients 0.19 s instead of 0.09 s, and a `min_traffic` flow of 10,000 x 1,000 0.77 s instead of
0.65 s. Kernels allocate nothing, so reference counting is disabled with Numba's private option `_nrt`. Start-up is the
same with both: no command imports Numba before it has work for it (`assignor-sim --help` and `validate` never do; `run
order_processing` does after `LOADING_WORK` steps of flows), and loading the cache then takes 0.3 s. Numba's cache
is invalidated only by a change of the entry kernel's file, so the kernel's name contains a hash of all source files.
"""

from __future__ import annotations

import inspect
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
Result = TypeVar("Result")

TINY_WORK = 16
"""Steps of work up to which plain Python is always faster."""

LOADING_WORK = 100_000
"""Steps of work that take as long in plain Python as loading the compiled kernels."""

_OPTIONS: dict[str, Any] = {"_nrt": False}


class Kernels:
    """One of the two ways to run kernels, with its containers.

    `compiled` says whether kernels are compiled and data is in arrays.
    """

    def __init__(self, *, compiled: bool) -> None:
        self.compiled = compiled

    def of(self, kernel: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """Return the kernel, or its compiled version."""
        return cast(Callable[Arguments, Result], compile_kernel(kernel)) if self.compiled else kernel

    def vector(self, values: list[int]) -> Vector:
        """Return a row of numbers."""
        return np.array(values, dtype=np.int64) if self.compiled else values

    def view(self, values: array[int] | bytearray) -> Vector:
        """Return numbers that share the memory of a `bytearray` or an `array("q")`."""
        if not self.compiled:
            return values
        if isinstance(values, bytearray):
            return np.frombuffer(values, dtype=np.uint8)
        return np.frombuffer(values, dtype=np.int64)

    def reals(self, values: list[float]) -> Reals:
        """Return a row of floating-point numbers."""
        return np.array(values, dtype=np.float64) if self.compiled else values

    def matrix(self, values: NDArray[Any]) -> Matrix:
        """Return a table of numbers: the array itself if it is suitable, else a copy."""
        if not self.compiled:
            table: list[list[int]] = values.tolist()
            return table
        if values.dtype == np.int64 and values.flags.carray:
            return values
        return np.require(values, np.uint8 if values.dtype == np.bool_ else np.int64, ["C", "W"])

    def read_only(self, values: NDArray[Any]) -> Matrix:
        """Return a table of numbers that no kernel changes: without a copy even if the array is read-only.

        Kernels are compiled for arrays that can be changed, and a copy of all lags takes longer than many kernels.
        """
        if not self.compiled or values.dtype != np.int64 or not values.flags.c_contiguous:
            return self.matrix(values)
        return np.asarray(_Unlocked(values))

    def zeros(self, size: int) -> Vector:
        """Return a row of zeros."""
        return np.zeros(size, dtype=np.int64) if self.compiled else [0] * size

    def space(self, rows: int, columns: int) -> Matrix:
        """Return a table with undefined entries."""
        return np.empty((rows, columns), dtype=np.int64) if self.compiled else [[0] * columns for _ in range(rows)]


class _Unlocked:
    """The memory of an array, without its flag against changes."""

    def __init__(self, values: NDArray[Any]) -> None:
        address, _ = values.__array_interface__["data"]
        self.__array_interface__ = {**values.__array_interface__, "data": (address, False)}
        self._values = values  # The array made from this keeps this, and so the memory, alive.


PLAIN = Kernels(compiled=False)
COMPILED = Kernels(compiled=True)


class KernelChoice:
    """Chooses how to run the next kernel from the work done so far.

    `plain_work`: steps of work that were done in plain Python.
    """

    def __init__(self) -> None:
        self.plain_work = 0
        self._override: Kernels | None = None

    def choose(self, work: int) -> Kernels:
        """Return the kernels for some work.

        `work`: number of steps; a step takes about 4 µs in plain Python. Returns plain or compiled kernels.
        """
        if self._override is not None:
            return self._override
        if work <= TINY_WORK:
            return PLAIN
        if self.plain_work + work > LOADING_WORK:
            self.plain_work = LOADING_WORK
            return COMPILED
        self.plain_work += work
        return PLAIN

    @contextmanager
    def always(self, kernels: Kernels) -> Iterator[None]:
        """Choose these kernels for all work within the context, for example to compare plain and compiled kernels."""
        previous, self._override = self._override, kernels
        try:
            yield
        finally:
            self._override = previous


CHOICE = KernelChoice()


@cache
def compile_kernel(kernel: Callable[..., Any]) -> Any:
    """Return the compiled version of a kernel and of the kernels that it calls.

    Machine code is cached on disk if the cache folder is writable, under a name with a hash of its source files.
    """
    from numba import njit

    assert isinstance(kernel, FunctionType)
    called = kernels_reached(kernel)
    for function in called - {kernel}:
        _make_callable(function)
    modules = sorted({__name__} | {function.__module__ for function in called})
    sources = "".join(inspect.getsource(sys.modules[module]) for module in modules)
    entry = FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__)
    entry.__qualname__ = f"{kernel.__name__}_{blake2b(sources.encode(), digest_size=6).hexdigest()}"
    try:
        return njit(cache=True, **_OPTIONS)(entry)
    except RuntimeError:  # no writable folder for the cache
        return njit(**_OPTIONS)(entry)


@cache
def _make_callable(kernel: FunctionType) -> None:
    """Let compiled kernels call this one."""
    from numba.extending import register_jitable

    register_jitable(**_OPTIONS)(kernel)


def kernels_reached(kernel: FunctionType) -> set[FunctionType]:
    """Return the kernel and all kernels that it calls, directly or indirectly."""
    reached, pending = {kernel}, [kernel]
    while pending:
        function = pending.pop()
        used = [function.__globals__.get(name) for name in function.__code__.co_names]
        called = {value for value in used if isinstance(value, FunctionType)}
        pending.extend(called - reached)
        reached |= called
    return reached
