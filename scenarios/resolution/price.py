"""What traffic between racks costs."""

from __future__ import annotations

from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.prices import PRICES
from scenarios.language.schema import PriceEntry
from scenarios.language.validation import SourceMap
from simulator.world.world import Price


def resolve_price(entry: PriceEntry | None, source_map: SourceMap) -> Price | None:
    """The price that is known or said; None if nothing is said. A provider without a price is noted as a mistake."""
    if entry is None:
        return None
    if entry.usd_per_gb is not None:
        return Price(entry.provider, entry.usd_per_gb, "the scenario")
    known = PRICES.get(entry.provider.lower())
    if known is None and source_map.is_valid("price"):
        hint = did_you_mean(entry.provider.lower(), list(PRICES), "providers")
        advice = "or give a price: {provider: mine, usd_per_gb: 0.03}"
        source_map.add_mistake(
            ("price", "provider"), f"the price of {format_value(entry.provider)} is not known ({hint}); {advice}"
        )
    return known
