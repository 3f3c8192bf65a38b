"""An aggregated sweep in words: where to start, what that costs, what else is lowest, and which seeds were not run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.analysis.conclusion import Conclusion
from reports.analysis.formatting import format_percent
from reports.analysis.metrics import METRIC, is_relevant, least_relevant
from reports.analysis.sweeps.grids import most_balanced
from reports.analysis.text import listed
from simulator.plurals import counted

Json = Mapping[str, Any]


def describe_stops(sweep: Mapping[str, Any]) -> str:
    """Return which pairs were stopped, when and why, and on which seeds combinations are compared.

    `sweep`: an entry of `sweeps` in the `summary.json` of an aggregate, with the key `stopped`.
    """
    stopped, seeds = sweep["stopped"], sweep["seeds"]
    number = stopped.get("baseline_setting")
    baseline = "the baseline" if number is None else f"the baseline setting ({number})"
    compared = "an assignor and the baseline" if number is None else f"a setting and {baseline} with the same assignor"
    family = "all looks" if number is None else "all pairs, metrics and looks together"
    titles = listed([METRIC[name].title for name in stopped["metrics"]])
    of_looks = [look for look in stopped["looks"] if look["stopped_pairs"]]
    pairs = sum(look["stopped_pairs"] for look in of_looks)
    if not pairs:
        return f"No difference from {baseline} in {titles} was decided before the last seed: no pair was stopped."
    when = listed([f"{look['stopped_pairs']:,} after {look['seeds']}" for look in of_looks])
    shared = stopped["shared_seeds"]
    text = (
        f"Seeds stopped for {pairs:,} of {stopped['pairs']:,} pairs of {compared}, as the sign of "
        f"their difference in {titles} was decided ({when} of {seeds} seeds; sign-flip tests, 5 % over {family}); "
        f"{stopped['runs']:,} runs were not needed."
    )
    if shared == seeds:
        return text
    return (
        f"{text} Combinations are compared by their means over the first {shared} seeds, which all have; differences, "
        "by the seeds of the pair. Means and intervals do not correct for the stop: a stopped difference tends to be "
        "too large."
    )


def conclude_sweeps(summary: Json) -> list[Conclusion]:
    """Return the conclusion of each scenario of an aggregate.

    Every figure is a mean over the seeds, and "lowest" means: as it is written, no other combination has a lower one.
    A combination has a price, or is lowest elsewhere, only by differences that are relevant (`metric.is_relevant`).
    """
    return [
        Conclusion(scenario["scenario"], tuple(_findings(scenario, summary["sweeps"])))
        for scenario in summary["scenarios"]
    ]


def _findings(scenario: Json, sweeps: Sequence[Json]) -> Iterator[str]:
    of_scenario = {sweep["sweep"]: sweep for sweep in sweeps if sweep["scenario"] == scenario["scenario"]}
    front = scenario.get("front", ())
    if not front:
        cause = "no figure is known" if scenario["cells_considered"] else "in each, a run failed or assigned nothing"
        yield f"No combination to recommend: {cause}."
        return
    is_complete = len(front) == scenario["cells_on_front"]
    start = _most_balanced(front, scenario["objectives"], of_scenario) if is_complete else None
    if not is_complete:
        yield "The page recommends one combination: assignor-sim report DIR -o sweep.html"
    if start is not None:
        yield _start(start, scenario, of_scenario)
        if start["stable"] < 1:
            yield f"With this combination, {format_percent(round(100 * start['stable']))} of the runs converge."
    yield from _lowest_elsewhere(start, scenario, of_scenario)
    stopped = [sweep for sweep in of_scenario.values() if sweep.get("stopped")]
    yield from (describe_stops(sweep) for sweep in stopped)
    seeds = min(sweep.get("stopped", {}).get("shared_seeds", sweep["seeds"]) for sweep in of_scenario.values())
    if seeds == 1:
        yield "Figures of a single seed may differ by chance: repeat the sweep with more seeds."
    else:
        yield f"Figures are means over {seeds} seeds; small differences may be chance."


def _most_balanced(front: Sequence[Json], objectives: Sequence[str], sweeps: Mapping[str, Json]) -> Json | None:
    """Return the most balanced combination with known objectives, as the page of the sweep recommends it."""
    known = [cell for cell in front if all(cell["means"][name] is not None for name in objectives)]
    known.sort(key=lambda cell: _place(cell, sweeps))
    means = [[cell["means"][name] for name in objectives] for cell in known]
    index = most_balanced(means, [cell["stable"] == 1 for cell in known], list(map(least_relevant, objectives)))
    return None if index is None else known[index]


def _place(cell: Json, sweeps: Mapping[str, Json]) -> tuple[str, int, int]:
    return cell["sweep"], cell["setting"], sweeps[cell["sweep"]]["assignors"].index(cell["assignor"])


def _start(start: Json, scenario: Json, sweeps: Mapping[str, Json]) -> str:
    """Return where to start, in what that is lowest, and what it costs in the other objectives."""
    lowest = _lowest_means(scenario)
    ours, objectives = start["means"], scenario["objectives"]
    wins = [name for name in objectives if _written(name, ours[name]) == _written(name, lowest[name])]
    worse = [name for name in objectives if name not in wins and _is_worse(name, ours[name], lowest[name])]
    near = [name for name in objectives if name not in (*wins, *worse)]
    prices = [f"{_noun(name)} {_written(name, ours[name])} (lowest: {_written(name, lowest[name])})" for name in worse]
    sweep = sweeps[start["sweep"]]
    is_baseline = " (the baseline)" if start["assignor"] == sweep["baseline"] else ""
    equal = sum(cell["means"] == ours for cell in scenario["front"]) - 1
    others = f" ({counted(equal, 'other combination')} with equal means)" if equal else ""
    text = f"Start with {start['assignor']}{is_baseline}{_setting(start, sweeps)}{others}"
    if len(wins) == len(objectives):
        return f"{text}: lowest in everything, with {listed(_figures(wins, ours))}."
    if len(worse) == len(objectives):
        return f"{text}, which is lowest in nothing and most balanced: {listed(prices)}."
    good = [f"lowest {listed(_figures(wins, ours, bracketed=True))}"] if wins else []
    if near:
        good.append(f"no relevant difference from the lowest {listed(_figures(near, ours, bracketed=True))}")
    return f"{text}: {'; '.join(good)}.{f' In exchange: {listed(prices)}.' if prices else ''}"


def _lowest_elsewhere(start: Json | None, scenario: Json, sweeps: Mapping[str, Json]) -> Iterator[str]:
    """Yield the combinations with the lowest mean of an objective in which `start` is worse."""
    lowest = _lowest_means(scenario)
    of_front = {_key(cell): cell for cell in scenario["front"]}
    by_cell: dict[tuple[Any, ...], list[Json]] = {}
    for best in scenario["best"]:
        name = best["objective"]
        if start is None or _is_worse(name, start["means"][name], lowest[name]):
            by_cell.setdefault(_key(best), []).append(best)
    for key, bests in by_cell.items():
        figures = _figures([best["objective"] for best in bests], lowest, bracketed=True)
        where = f"{bests[0]['assignor']}{_setting(bests[0], sweeps)}"
        price = _price(of_front.get(key), start, [best["objective"] for best in bests], scenario["objectives"])
        yield f"Lowest {listed(figures)}: {where}{price}."


def _price(cell: Json | None, start: Json | None, wins: Sequence[str], objectives: Sequence[str]) -> str:
    """Return the objectives in which a combination is worse than `start`."""
    if cell is None or start is None:
        return ""
    worse = [
        f"{_noun(name)} {_written(name, cell['means'][name])}"
        for name in objectives
        if name not in wins and _is_worse(name, cell["means"][name], start["means"][name])
    ]
    return f"; in exchange, {listed(worse)}" if worse else ""


def _is_worse(name: str, value: float | None, other: float) -> bool:
    return value is None or (value > other and is_relevant(value - other, other, least_relevant(name)))


def _lowest_means(scenario: Json) -> dict[str, float]:
    return {best["objective"]: best["mean"] for best in scenario["best"]}


def _key(cell: Json) -> tuple[Any, ...]:
    return cell["sweep"], cell["setting"], cell["assignor"]


def _setting(cell: Json, sweeps: Mapping[str, Json]) -> str:
    """Return the setting after the name of an assignor; nothing if the sweep varies only assignors."""
    setting = f" and {cell['label']}" if cell["label"] else ""
    return f"{setting} ({cell['sweep']})" if len(sweeps) > 1 else setting


def _figures(names: Iterable[str], means: Mapping[str, Any], *, bracketed: bool = False) -> Iterator[str]:
    for name in names:
        written = _written(name, means[name])
        yield f"{_noun(name)} ({written})" if bracketed else f"{_noun(name)} {written}"


def _noun(name: str) -> str:
    title = METRIC[name].title.partition(" (")[0]
    return title[0].lower() + title[1:]


def _written(name: str, mean: float | None) -> str:
    return "unknown for some runs" if mean is None else METRIC[name].write(mean)
