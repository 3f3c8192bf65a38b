"""When kernels are compiled, and that they are the same functions."""

import subprocess
import sys
from types import FunctionType
from typing import Any

import numba
import pytest

from assignors.flow import compilation
from assignors.flow.compilation import LOADING_WORK, TINY_WORK, KernelChoice, Kernels, compile_kernel, plain_kernels
from assignors.flow.cycles import cancel_cycles

COMPILED = Kernels(True, plain_kernels().assign_all, plain_kernels().cancel_cycles)


@pytest.fixture
def choice(monkeypatch: pytest.MonkeyPatch) -> KernelChoice:
    """A fresh choice whose compiled kernels are a stand-in, so that nothing is compiled here."""
    monkeypatch.setattr(compilation, "compiled_kernels", lambda: COMPILED)
    return KernelChoice()


def test_a_small_problem_runs_plainly(choice: KernelChoice) -> None:
    assert choice.choose(LOADING_WORK) is plain_kernels()


def test_a_problem_worth_the_loading_is_compiled_at_once(choice: KernelChoice) -> None:
    assert choice.choose(LOADING_WORK + 1) is COMPILED


def test_many_small_problems_are_worth_the_loading_together(choice: KernelChoice) -> None:
    size = LOADING_WORK // 4
    assert [choice.choose(size) for _ in range(4)] == [plain_kernels()] * 4
    assert choice.choose(size) is COMPILED


def test_once_compiled_always_compiled(choice: KernelChoice) -> None:
    choice.choose(LOADING_WORK + 1)
    assert choice.choose(TINY_WORK + 1) is COMPILED


def test_a_tiny_problem_is_never_worth_it(choice: KernelChoice) -> None:
    choice.choose(LOADING_WORK + 1)
    assert choice.choose(TINY_WORK) is plain_kernels()


def test_a_small_problem_does_not_import_numba() -> None:
    program = (
        "import sys, numpy as np; from assignors.flow import min_traffic;"
        "print(min_traffic(np.array([[1, 0], [0, 1]]), np.array([0, 1])), 'numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1 0] False\n"


def test_without_a_folder_for_machine_code_it_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(kernel: Any = None, **options: Any) -> Any:
        if options:
            raise RuntimeError("cannot cache function 'cancel_cycles': no locator available")
        return kernel

    monkeypatch.setattr(numba, "njit", njit)
    assert isinstance(cancel_cycles, FunctionType)
    kept = compile_kernel(cancel_cycles, {}, "0")
    assert kept.__code__ is cancel_cycles.__code__
