"""The flow kernels, plain or compiled: one source, two ways to run it.

The kernels are written so that the same functions run as plain Python on lists and, compiled by Numba, on int64 arrays.
Importing Numba and reading the machine code from its cache takes about 0.4 s of a process (the first time after an
installation, compiling takes some 6 s). Plain Python solves a problem of 150 tasks x 12 clients in a few ms. So a
process works plainly until it has done about as much as loading costs, and is compiled from then on; a problem that is
that large by itself is never done plainly, and one of a few tasks and two clients always is. The answers are the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assignors.flow import augmentation, cycles, distances, network
from assignors.flow.network import Matrix, Vector

MODULES: tuple[ModuleType, ...] = (network, distances, augmentation, cycles)
ENTRIES = ("assign_all", "cancel_cycles")

TINY_WORK = 16
LOADING_WORK = 100_000


@dataclass(frozen=True, slots=True)
class Kernels:
    """The two entries to the kernels, and the containers they want."""

    compiled: bool
    assign_all: Callable[..., int]
    cancel_cycles: Callable[..., tuple[int, bool]]

    def vector(self, values: list[int]) -> Vector:
        """A row of numbers."""
        return np.array(values, dtype=np.int64) if self.compiled else values

    def matrix(self, values: NDArray[np.int64]) -> Matrix:
        """A table of numbers: the array itself if it can be used, else a copy."""
        return np.require(values, np.int64, ["C", "W"]) if self.compiled else values.tolist()

    def space(self, rows: int, columns: int) -> Matrix:
        """A table to be filled."""
        return np.empty((rows, columns), dtype=np.int64) if self.compiled else [[0] * columns for _ in range(rows)]


class KernelChoice:
    """Decides which kernels the next problem is solved with, from what was solved before."""

    def __init__(self) -> None:
        self.plain_work = 0

    def choose(self, work: int) -> Kernels:
        """The kernels for a problem of so much work, in tasks x clients (about 4 µs each in plain Python)."""
        if work <= TINY_WORK:
            return plain_kernels()
        if self.plain_work + work > LOADING_WORK:
            self.plain_work = LOADING_WORK
            return compiled_kernels()
        self.plain_work += work
        return plain_kernels()


CHOICE = KernelChoice()


@cache
def plain_kernels() -> Kernels:
    """The kernels as they stand in the source."""
    return Kernels(False, augmentation.assign_all, cycles.cancel_cycles)


@cache
def compiled_kernels() -> Kernels:
    """The kernels compiled by Numba; the machine code is kept on disk, named after the sources that went into it."""
    sources = "".join(inspect.getsource(module) for module in MODULES)
    digest = blake2b(sources.encode(), digest_size=6).hexdigest()
    names: dict[str, Any] = {name: value for module in MODULES for name, value in vars(module).items()}
    for name, kernel in names.items():
        if isinstance(kernel, FunctionType):
            names[name] = compile_kernel(kernel, names, digest)
    return Kernels(True, names["assign_all"], names["cancel_cycles"])


def compile_kernel(kernel: FunctionType, names: dict[str, Any], digest: str) -> Any:
    """A compiled copy of a kernel that calls the compiled copies of the others by `names`."""
    from numba import njit

    copy = FunctionType(kernel.__code__, names, kernel.__name__)
    if kernel.__name__ not in ENTRIES:
        inner: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return njit(**inner)(copy)
    copy.__qualname__ = f"{kernel.__name__}_{digest}"
    try:
        return njit(cache=True)(copy)
    except RuntimeError:  # no folder to keep it in can be written to
        return njit(copy)
