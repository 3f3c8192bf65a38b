"""What traffic between racks costs."""

from __future__ import annotations

from scenarios.errors import did_you_mean, show
from scenarios.prices import PRICES
from scenarios.schema import PriceEntry
from scenarios.validation import Places
from simulator.world import Price


def resolve_price(said: PriceEntry | None, places: Places) -> Price | None:
    """The price that is known or said; None if nothing is said. A provider without a price is noted as a mistake."""
    if said is None:
        return None
    if said.usd_per_gb is not None:
        return Price(said.provider, said.usd_per_gb, "the scenario")
    known = PRICES.get(said.provider.lower())
    if known is None and places.is_sound("price"):
        hint = did_you_mean(said.provider.lower(), list(PRICES), "providers")
        advice = "or give a price: {provider: mine, usd_per_gb: 0.03}"
        places.wrong(("price", "provider"), f"the price of {show(said.provider)} is not known ({hint}); {advice}")
    return known
