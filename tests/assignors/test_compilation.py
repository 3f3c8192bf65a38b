"""Kernels are compiled when that pays off, and are the same functions."""

import subprocess
import sys
from array import array
from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest

from assignors.compilation import (
    COMPILED,
    LOADING_WORK,
    PLAIN,
    TINY_WORK,
    KernelChoice,
    Kernels,
    compile_kernel,
    kernels_reached,
)
from assignors.flow.cycles import cancel_cycles
from assignors.flow.network import refresh_share
from assignors.java.hash_order import grown_capacity, table_capacity


def test_small_problem_runs_as_plain_python() -> None:
    assert KernelChoice().choose(LOADING_WORK) is PLAIN


def test_problem_worth_loading_kernels_is_compiled_at_once() -> None:
    assert KernelChoice().choose(LOADING_WORK + 1) is COMPILED


def test_many_small_problems_are_worth_loading_kernels_together() -> None:
    choice, size = KernelChoice(), LOADING_WORK // 4
    assert [choice.choose(size) for _ in range(4)] == [PLAIN] * 4
    assert choice.choose(size) is COMPILED


def test_kernels_stay_compiled_after_a_large_problem() -> None:
    choice = KernelChoice()
    choice.choose(LOADING_WORK + 1)
    assert choice.choose(TINY_WORK + 1) is COMPILED


def test_tiny_problem_is_never_compiled() -> None:
    choice = KernelChoice()
    choice.choose(LOADING_WORK + 1)
    assert choice.choose(TINY_WORK) is PLAIN


def test_small_problem_does_not_import_numba() -> None:
    program = (
        "import sys, numpy as np; from assignors.flow import min_traffic;"
        "print(min_traffic(np.array([[1, 0], [0, 1]]), np.array([0, 1])), 'numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1 0] False\n"


def test_kernel_is_compiled_with_the_kernels_that_it_calls() -> None:
    assert refresh_share in kernels_reached(cancel_cycles)
    hashes = [16 * number for number in range(9)]
    kernel = COMPILED.of(table_capacity)
    assert kernel is COMPILED.of(table_capacity)
    assert PLAIN.of(table_capacity) is table_capacity
    actual = kernel(COMPILED.vector(hashes), len(hashes), 16, COMPILED.zeros(64))
    assert actual == table_capacity(hashes, len(hashes), 16, [0] * 64) == 32


@pytest.mark.parametrize("kernels", [PLAIN, COMPILED])
def test_view_shares_its_memory(kernels: Kernels) -> None:
    numbers, flags = array("q", [1, 2, 3]), bytearray(3)
    kernels.view(numbers)[1] = -7
    kernels.view(flags)[2] = 1
    assert numbers.tolist() == [1, -7, 3]
    assert list(flags) == [0, 0, 1]


@pytest.mark.parametrize("kernels", [PLAIN, COMPILED])
def test_read_only_table_is_copied(kernels: Kernels) -> None:
    table = np.arange(6).reshape(2, 3)
    table.setflags(write=False)
    kernels.matrix(table)[1][2] = 9
    assert table[1, 2] == 5


def test_table_that_no_kernel_changes_is_not_copied() -> None:
    table = np.arange(6).reshape(2, 3)
    table.setflags(write=False)
    shared = COMPILED.read_only(table)
    assert isinstance(shared, np.ndarray)
    assert np.shares_memory(shared, table)
    assert shared.flags.carray  # Kernels are compiled for such arrays.
    assert COMPILED.read_only(table.T)[2][1] == PLAIN.read_only(table)[1][2] == 5
    assert not table.flags.writeable


def test_kernel_is_compiled_without_a_writable_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'grown_capacity': no locator available")
        return lambda kernel: kernel

    monkeypatch.setattr(numba, "njit", njit)
    assert isinstance(grown_capacity, FunctionType)
    compiled = compile_kernel.__wrapped__(grown_capacity)
    assert compiled.__code__ is grown_capacity.__code__
