"""Remembering solved flows while a group lives through many rebalances.

The graph of a flow hangs on racks, members and costs, not on lags. As a group goes from rebalance to rebalance, the
same problem comes again and again; within `remembering` it is solved once. A flow's answer is a function of its arrays,
so nothing else changes. Outside of it every problem is solved.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Result = TypeVar("_Result")
Array = NDArray[np.integer[Any]]

MAX_ENTRIES = 128

_MEMORY: ContextVar[OrderedDict[bytes, Any] | None] = ContextVar("solved flows", default=None)


@contextmanager
def flow_cache() -> Iterator[None]:
    """Solve no flow twice; the answers that were not asked for longest are forgotten."""
    token = _MEMORY.set(OrderedDict())
    try:
        yield
    finally:
        _MEMORY.reset(token)


def cached_solve(kind: str, arrays: tuple[Array, ...], solve: Callable[[], _Result]) -> _Result:
    """The answer to a problem: remembered if it is, else solved.

    Args:
        kind: what sort of problem it is.
        arrays: all that the answer hangs on.
        solve: finds it.
    """
    memory = _MEMORY.get()
    if memory is None:
        return solve()
    digest = blake2b(kind.encode(), digest_size=16)
    for array in arrays:
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    key = digest.digest()
    if key in memory:
        memory.move_to_end(key)
    else:
        memory[key] = solve()
        if len(memory) > MAX_ENTRIES:
            memory.popitem(last=False)
    answer: _Result = memory[key]
    return answer
