"""What a copy of a task costs on each client, in whole numbers that also settle ties.

The costs are those of `costs` or `byte_costs`. Ties are settled in favour of clients that need not warm up, then of
those that do so already, so that an answer stays what it was while its copies are restored.
"""

from __future__ import annotations

from dataclasses import dataclass

from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.model.state import previous_holders
from assignors.optimum.costs import CopyCosts
from assignors.optimum.warmup import needs_warmup

_WORST = 2
"""What a copy that waits counts at most in settling ties."""


@dataclass(frozen=True, slots=True, eq=False)
class CopyPrices:
    """What copies cost, and how that was made of costs and ties.

    Attributes:
        active: shape (N, C); of N stateful tasks.
        standby: shape (N, C); of these.
        stateless: shape (M, C); of the M other tasks.
        scale: how often a cost is counted, so that all ties together count less than a cost of 1.
    """

    active: IntArray
    standby: IntArray
    stateless: IntArray
    scale: int

    def cost(self, total: int) -> int:
        """The cost in a sum of prices."""
        return total // self.scale

    def least_cost(self, total: int) -> int:
        """What costs at least, if their prices sum up to at least this."""
        return -((self.scale - 1 - total) // self.scale)


def prices(state: ApplicationState, copies: int, costs: CopyCosts, downtime_cost: int) -> CopyPrices:
    """Price every copy on every client.

    Args:
        state: what is to be assigned.
        copies: standbys of each stateful task.
        costs: what copies cost.
        downtime_cost: what a task costs besides, that would run on a client that lags behind another one, in what the
            costs count.
    """
    stateful = state.tasks.stateful
    ran, held = previous_holders(state)
    behind = needs_warmup(state)
    is_new, is_new_standby = (costs.settles_moves * ~had[stateful] for had in (ran, held))
    worst = _WORST + costs.settles_moves
    scale = worst * (int(stateful.sum()) * (1 + copies) + int((~stateful).sum())) + 1
    waits = behind * (_WORST - held[stateful])
    down = round(downtime_cost / costs.unit) * behind
    return CopyPrices(
        active=(costs.running[stateful] + down) * scale + waits + is_new,
        standby=costs.standing_by[stateful] * scale + waits + is_new_standby,
        stateless=costs.running[~stateful] * scale + ~ran[~stateful],
        scale=scale,
    )


def total(price: IntArray, held: BoolArray) -> int:
    """The sum of the prices of copies."""
    return int(price[held].sum())
