"""What the metrics of a run are computed from, each part once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from simulator.flows.traffic import TrafficBytes
from simulator.results.convergence import Convergence, convergence
from simulator.results.moves import REASONS, RoundMoves
from simulator.results.trace import INITIAL_ROUND, Trace, first_final_index, num_rebalances
from simulator.world.layout import FloatArray
from simulator.world.price import Price

_GIGABYTE = 1e9
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A finished run.

    Attributes:
        trace: the run.
        rounds: the rows of its table `rounds`.
    """

    trace: Trace
    rounds: Sequence[Mapping[str, Any]]
    moved: Sequence[RoundMoves]

    @cached_property
    def converged(self) -> Convergence:
        """How the group converged."""
        return convergence(self.trace)

    @property
    def num_rebalances(self) -> int:
        """The number of rebalances."""
        return num_rebalances(self.trace.rounds)

    @cached_property
    def downtime_ms(self) -> IntArray:
        """How long each task was not processed, shape (T,)."""
        return self.trace.downtime_ms

    @cached_property
    def longest_downtime_ms(self) -> IntArray:
        """The longest outage of each task, shape (T,)."""
        return self.trace.longest_downtime_ms

    def downtime_percentile_ms(self, percent: float) -> float | None:
        """Return a percentile of the downtime over tasks; None without tasks."""
        return float(np.percentile(self.downtime_ms, percent)) if len(self.downtime_ms) else None

    @cached_property
    def unavailable_ms(self) -> Counter[TopicPartition]:
        """How long each partition that was unavailable for some time was unavailable."""
        by_partition: Counter[TopicPartition] = Counter()
        for outage in self.trace.outages:
            by_partition[outage.partition] += outage.until_ms - outage.from_ms
        return by_partition

    def num_moves(self, reason: str) -> int:
        """Return how many active tasks moved for a `MoveReason`."""
        return sum(int((moves.reasons == REASONS.index(reason)).sum()) for moves in self.moved)

    @cached_property
    def cross_rack_bytes(self) -> float | None:
        """The bytes between racks in all rounds; None if unknown in one."""
        values = [row["cross_rack_bytes"] for row in self.rounds]
        return None if None in values else sum(values, 0.0)

    @property
    def usd(self) -> float | None:
        """The cost of the bytes between racks; None without a price, or if they are unknown."""
        price = self.trace.world.price
        if price is None or self.cross_rack_bytes is None:
            return None
        usd_per_byte = self._usd_per_byte(price)
        return sum(_usd(round_.traffic, usd_per_byte) for round_ in self.trace.rounds)

    @property
    def usd_per_day(self) -> float | None:
        """The cost of a day of the last round's steady state; None without a price, or if a rack is unknown."""
        price, rounds = self.trace.world.price, self.trace.rounds
        if price is None or not rounds or not self.trace.knows_racks(rounds[-1]):
            return None
        return _SECONDS_PER_DAY * _usd(rounds[-1].steady_state, self._usd_per_byte(price))

    def _usd_per_byte(self, price: Price) -> FloatArray:
        """Return the price from each rack to each rack, shape (R, R); 0 within a rack."""
        racks = self.trace.layout.racks
        prices = [
            [price.between(source, target).usd_per_gb * (source != target) for target in racks] for source in racks
        ]
        return np.array(prices, dtype=np.float64).reshape(len(racks), len(racks)) / _GIGABYTE

    @cached_property
    def costs(self) -> dict[str, float | None]:
        """The total costs and their bounds by column: in the deciding round, on average and at worst."""
        rounds = [round_ for round_ in self.trace.rounds if round_.number != INITIAL_ROUND] or self.trace.rounds
        if not rounds:
            return {}
        deciding = rounds[first_final_index(rounds)]
        appraisal = deciding.appraisal
        costs: dict[str, float | None] = {
            "deciding_round": deciding.number,
            "total_cost": None if appraisal is None else appraisal.cost,
            "total_cost_bound": None if appraisal is None else appraisal.bound,
        }
        appraised = [(round_.number, round_.appraisal) for round_ in rounds if round_.appraisal is not None]
        if not appraised:
            return costs
        number, worst = max(appraised, key=lambda pair: pair[1].cost - pair[1].bound)
        return {
            **costs,
            "mean_total_cost": sum(appraisal.cost for _, appraisal in appraised) / len(appraised),
            "mean_total_cost_bound": sum(appraisal.bound for _, appraisal in appraised) / len(appraised),
            "worst_cost_round": number,
            "worst_total_cost": worst.cost,
            "worst_total_cost_bound": worst.bound,
        }


def _usd(traffic: TrafficBytes, usd_per_byte: FloatArray) -> float:
    return float(sum((matrix[:-1, :-1] * usd_per_byte).sum() for matrix in traffic.values()))
