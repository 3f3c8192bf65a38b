"""Cloud prices of cross-zone traffic per gigabyte (10⁹ bytes)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simulator.world.world import Price

PRICES: Final[Mapping[str, Price]] = {
    # AWS charges 0.01 for egress from a zone and 0.01 for ingress to a zone.
    "aws": Price(
        "aws", 0.02, "2026-11, lastweekinaws.com/blog/aws-cross-az-data-transfer-costs-more-than-aws-says", 0.01
    ),
    "azure": Price("azure", 0.0, "2026-11, docs.azure.cn/en-us/availability-zones/az-overview"),
    "gcp": Price("gcp", 0.01, "2026-11, cloud.google.com/vpc/pricing"),
}
"""The known prices by provider."""
