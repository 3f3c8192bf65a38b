"""Write the comparison of docs/explanation/warmup-preview.md: `python -m tools.warmup_preview`.

It compares the preview of warm-ups in streams groups with Kafka 4.4 on the shipped scenarios that have a streams group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from assignors import registry
from reports.analysis.comparison import ComparisonRow, compare_runs
from reports.analysis.metrics import METRIC
from scenarios.load import Scenario
from scenarios.shipped import list_applications
from simulator.world.group_configs import GroupProtocol

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "warmup-preview.md"
MARK = "<!-- Below: made by `python -m tools.warmup_preview`. -->\n"
END = "<!-- Above: made by `python -m tools.warmup_preview`. -->\n"
KEYS = ("rebalances_to_converge", "time_to_converge_ms", "worst_downtime_ms", "mean_downtime_ms", "active_moves")
STANDBYS = (0, 1)


def streams_scenarios() -> list[Scenario]:
    """Return the shipped scenarios in which an assignor of brokers runs in a streams group."""
    scenarios = [load(path) for path in list_applications()]
    return [scenario for scenario in scenarios if _streams_spec(scenario) is not None]


def _streams_spec(scenario: Scenario) -> int | None:
    return next(
        (
            number
            for number, spec in enumerate(scenario.assignors)
            if spec.info.in_streams_groups and scenario.protocol_of(spec) is GroupProtocol.STREAMS
        ),
        None,
    )


def compared(scenario: Scenario) -> Iterator[tuple[str, ComparisonRow]]:
    """Yield the figures of Kafka 4.4 and of the preview, medians over the scenario's seeds.

    Yields the name of the assignor, and its figures.
    """
    number = _streams_spec(scenario)
    assert number is not None
    kafkas = scenario.assignors[number]
    names = ("streams_group_sticky@4.4", "streams_group_sticky@trunk")
    for name, parameters in zip(names, ({}, {"preview": True}), strict=True):
        spec = replace(kafkas, info=registry.find(name), parameters=parameters, label=name)
        result = run(replace(scenario, assignors=(spec,)), explain=False, keep_traces=False, ranges=False)
        yield name, compare_runs(result.tables)[0]


def table_rows(scenario: Scenario, standbys: int) -> list[str]:
    """Return the rows of a scenario."""
    rows = []
    for name, row in compared(scenario):
        cells = [scenario.name, str(standbys), name.partition("@")[2], *(_cell(row, key) for key in KEYS)]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def with_standbys(scenario: Scenario, standbys: int) -> Scenario:
    """Return a shipped scenario with another number of standbys."""
    assert scenario.path is not None
    return load(scenario.path, [("application.configs.num.standby.replicas", str(standbys))])


def table(scenarios: Sequence[Scenario]) -> str:
    """Return the table of all scenarios."""
    titles = ["scenario", "standbys", "Kafka", *(METRIC[key].title for key in KEYS)]
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for scenario in scenarios:
        for standbys in STANDBYS:
            lines += table_rows(with_standbys(scenario, standbys), standbys)
    return "\n".join(lines) + "\n"


def _cell(row: ComparisonRow, key: str) -> str:
    """Return the median of a figure; a dash if it is unknown."""
    spread = row.spreads[key]
    return "–" if spread is None else METRIC[key].write(spread.median)


if __name__ == "__main__":
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
    _, _, foot = rest.partition(END)
    PAGE.write_text(f"{head}{MARK}\n{table(streams_scenarios())}\n{END}{foot}", encoding="utf-8")
