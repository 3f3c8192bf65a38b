"""A cache of solved flows for the rebalances of one group.

The graph of a flow depends on racks, members and costs, not on lags, so the same problems recur in the rebalances of a
group. Within `flow_cache`, each problem is solved once. A solution is a function of its arrays, so the cache changes no
result. Outside of it, each problem is solved again.
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
"""Number of cached solutions; the least recently used is evicted."""

_SOLUTIONS: ContextVar[OrderedDict[bytes, Any] | None] = ContextVar("flow_cache", default=None)


@contextmanager
def flow_cache() -> Iterator[None]:
    """Cache solutions of flows inside a `with` block (LRU, 128 entries)."""
    token = _SOLUTIONS.set(OrderedDict())
    try:
        yield
    finally:
        _SOLUTIONS.reset(token)


def cached_solve(kind: str, arrays: tuple[Array, ...], solve: Callable[[], _Result]) -> _Result:
    """Return the solution of a problem from the cache, or solve it.

    `arrays`: all inputs on which the solution depends.
    """
    cache = _SOLUTIONS.get()
    if cache is None:
        return solve()
    digest = blake2b(kind.encode(), digest_size=16)
    for array in arrays:
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    key = digest.digest()
    if key in cache:
        cache.move_to_end(key)
    else:
        cache[key] = solve()
        if len(cache) > MAX_ENTRIES:
            cache.popitem(last=False)
    solution: _Result = cache[key]
    return solution
