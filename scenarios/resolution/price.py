"""Resolve the price of cross-rack traffic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from scenarios.language.errors import did_you_mean, format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.price_entries import PairPriceEntry, PriceEntry
from scenarios.language.prices import PRICES
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorSpec
from simulator.world.world import PairPrice, Price

_PRICE: Final[ScenarioPath] = ("price",)
_PAIRS: Final = (*_PRICE, "pairs")


def resolve_price(entry: PriceEntry | None, racks: Collection[str] | None, source_map: SourceMap) -> Price | None:
    """Return the price of the scenario or the provider's built-in price; report a provider without a price.

    `racks`: the racks of brokers, clients and other traffic; None if not all are known.
    """
    if entry is None:
        return None
    price = _usual_price(entry, source_map)
    pairs: dict[tuple[str, str], PairPrice] = {}
    listed: dict[tuple[str, str], int] = {}
    for i, pair in valid_entries(entry.pairs):
        path = (*_PAIRS, i)
        _check_racks(pair, path, racks, source_map)
        cost = PairPrice(pair.usd_per_gb, _received_of_pair(pair, path, price, source_map))
        for key in _directions(pair, path, source_map):
            if key in listed:
                message = f"{key[0]} → {key[1]} has a price in pairs[{listed[key]}] already; list it once"
                source_map.add_mistake(path, message)
            listed.setdefault(key, i)
            pairs[key] = cost
    return price if price is None or not pairs else replace(price, pairs=pairs)


def warn_about_dollars(price: Price | None, assignors: Sequence[AssignorSpec], source_map: SourceMap) -> None:
    """Warn about assignors that minimize dollars, which take one price for all pairs of racks."""
    if price is None or not price.pairs:
        return
    for number, spec in enumerate(assignors):
        if spec.parameters.get("minimizes") == "dollars":
            message = f"{spec.label} minimizes dollars at ${price.usd_per_gb:g} per GB between all racks, without pairs"
            source_map.add_warning(("assignors", number), message)


def _usual_price(entry: PriceEntry, source_map: SourceMap) -> Price | None:
    """Return the price of pairs that are not listed."""
    known = PRICES.get(entry.provider.lower())
    if entry.usd_per_gb is not None:
        return Price(entry.provider, entry.usd_per_gb, "the scenario", _received(entry, known, source_map))
    if known is None and source_map.is_valid("price"):
        hint = did_you_mean(entry.provider.lower(), list(PRICES), "providers")
        advice = "or set a price: {provider: mine, usd_per_gb: 0.03}"
        source_map.add_mistake(
            ("price", "provider"), f"no built-in price of {format_value(entry.provider)} ({hint}); {advice}"
        )
    elif entry.received_usd_per_gb is not None and source_map.is_valid("price"):
        source_map.add_mistake(("price", "received_usd_per_gb"), "is a part of usd_per_gb; set usd_per_gb, too")
    return known


def _received(entry: PriceEntry, known: Price | None, source_map: SourceMap) -> float:
    """Return the receiver's part of the price; by default, the same fraction as in the built-in price."""
    if entry.received_usd_per_gb is None:
        return _fraction(known) * (entry.usd_per_gb or 0.0)
    _check_received(entry, _PRICE, source_map)
    return entry.received_usd_per_gb


def _received_of_pair(pair: PairPriceEntry, path: ScenarioPath, usual: Price | None, source_map: SourceMap) -> float:
    """Return the receiver's part of the price of a pair; by default, the same fraction as of the usual price."""
    if pair.received_usd_per_gb is None:
        return _fraction(usual) * pair.usd_per_gb
    _check_received(pair, path, source_map)
    return pair.received_usd_per_gb


def _fraction(price: Price | None) -> float:
    return price.received_usd_per_gb / price.usd_per_gb if price is not None and price.usd_per_gb > 0 else 0.0


def _check_received(entry: PriceEntry | PairPriceEntry, path: ScenarioPath, source_map: SourceMap) -> None:
    total, received = entry.usd_per_gb or 0.0, entry.received_usd_per_gb or 0.0
    if received > total:
        message = f"{received:g} is more than usd_per_gb: {total:g}, of which it is a part"
        source_map.add_mistake((*path, "received_usd_per_gb"), message)


def _directions(pair: PairPriceEntry, path: ScenarioPath, source_map: SourceMap) -> Iterator[tuple[str, str]]:
    """Yield the pairs of different racks of an entry, each once; report an entry without any."""
    pairs = [(source, target) for source in pair.from_racks for target in pair.to_racks if source != target]
    if not pairs:
        source_map.add_mistake(path, "from and to are the same rack; only traffic between racks has a price")
    opposite = [(target, source) for source, target in pairs] if pair.both_ways else []
    yield from dict.fromkeys([*pairs, *opposite])


def _check_racks(
    pair: PairPriceEntry, path: ScenarioPath, racks: Collection[str] | None, source_map: SourceMap
) -> None:
    """Report racks that nothing is in."""
    for key, names in (("from", pair.from_racks), ("to", pair.to_racks)):
        for rack in names:
            if racks is not None and rack not in racks:
                message = f"unknown rack {format_value(rack)} ({format_list('racks', sorted(racks))})"
                source_map.add_mistake((*path, key), message)
