"""Resolve the price of cross-rack traffic."""

from __future__ import annotations

from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.prices import PRICES
from scenarios.language.schema import PriceEntry
from scenarios.language.validation import SourceMap
from simulator.world.world import Price


def resolve_price(entry: PriceEntry | None, source_map: SourceMap) -> Price | None:
    """Return the price of the scenario or the provider's built-in price; report a provider without a price."""
    if entry is None:
        return None
    if entry.usd_per_gb is not None:
        return Price(entry.provider, entry.usd_per_gb, "the scenario")
    known = PRICES.get(entry.provider.lower())
    if known is None and source_map.is_valid("price"):
        hint = did_you_mean(entry.provider.lower(), list(PRICES), "providers")
        advice = "or set a price: {provider: mine, usd_per_gb: 0.03}"
        source_map.add_mistake(
            ("price", "provider"), f"no built-in price of {format_value(entry.provider)} ({hint}); {advice}"
        )
    return known
