"""The price of traffic between racks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class PairPrice(NamedTuple):
    """The price of a gigabyte (10⁹ bytes) from one rack to another.

    Attributes:
        usd_per_gb: the price of sending and receiving.
        received_usd_per_gb: the part of it for receiving.
    """

    usd_per_gb: float
    received_usd_per_gb: float


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a cloud provider for a gigabyte (10⁹ bytes) of cross-rack traffic.

    Attributes:
        usd_per_gb: the price of sending and receiving.
        as_of: date and source of the price.
        received_usd_per_gb: the part of it for receiving; the rest is for sending.
        pairs: other prices from one rack to another.
    """

    provider: str
    usd_per_gb: float
    as_of: str
    received_usd_per_gb: float = 0.0
    pairs: Mapping[tuple[str, str], PairPrice] = field(default_factory=dict)

    def between(self, from_rack: str, to_rack: str) -> PairPrice:
        """Return the price from one rack to another."""
        return self.pairs.get((from_rack, to_rack)) or PairPrice(self.usd_per_gb, self.received_usd_per_gb)
