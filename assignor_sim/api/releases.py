"""`sim.releases`: what changes from one Kafka release to another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from assignors.kafka_releases import registered_release
from reports.analysis.comparison import ComparisonRow, compare_runs
from reports.analysis.release_changes import ReleaseChanges, UpgradeEffect
from reports.analysis.release_differences import THREADS, measured_differences
from scenarios.language.releases import UnknownReleaseError
from scenarios.load import AssignorSpec, Scenario
from scenarios.shipped import list_scenarios
from simulator.world.world import GroupProtocol


class NoStreamsGroupError(Exception):
    """A scenario has no assignor that brokers run, so their release does not matter."""


def releases(
    older: str | None = None,
    newer: str | None = None,
    *,
    scenarios: Iterable[str | os.PathLike[str]] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> ReleaseChanges:
    """Compare the answers of two Kafka releases, and simulate scenarios with the brokers of both.

    The numbers of different answers were measured with the released classes on random problems. Scenarios are simulated
    with `cluster.kafka` set to each release; only assignors that run in a streams group are compared.

    Args:
        older: release, such as `4.3`; by default the one before `newer`.
        newer: a later release; by default the newest.
        scenarios: files, or names of shipped scenarios; by default all shipped ones that use a streams group.
        on_progress: called with a description of each simulation before it starts.

    Returns:
        The changes.

    Raises:
        UnknownReleaseError: a release was not compared, or `newer` is not newer.
        ScenarioError: a scenario is invalid.
        NoStreamsGroupError: a named scenario uses no streams group.

    Examples:
        >>> import assignor_sim as sim
        >>> changes = sim.releases("4.3", "4.4", scenarios=[])
        >>> [history.name for history, _, found in changes.answers() if found.different][0]
        'streams_group_sticky'
    """
    measured = measured_differences()
    before, after = _pair(older, newer, measured.releases)
    compared = {name: {before, after} <= set(history.releases) for name, history in measured.assignors.items()}
    effects: list[UpgradeEffect] = []
    if {before, after} <= set(measured.brokers.patches):
        paths = list_scenarios() if scenarios is None else scenarios
        for path in paths:
            found = list(_effects(path, before, after, on_progress))
            if not found and scenarios is not None:
                raise NoStreamsGroupError(
                    f"{os.fspath(path)}: no assignor runs in a streams group (group.protocol: streams), "
                    "so the release of the brokers does not change the assignment"
                )
            effects += found
    return ReleaseChanges(
        before,
        after,
        tuple(measured.assignors[name] for name in compared if compared[name]),
        tuple(name for name in compared if not compared[name] and name != THREADS),
        tuple(effects),
    )


def _pair(older: str | None, newer: str | None, known: tuple[str, ...]) -> tuple[str, str]:
    """Return the two releases.

    Raises:
        UnknownReleaseError: a release was not compared, or `newer` is not newer.
    """
    after = known[-1] if newer is None else _known(newer, known)
    before = known[max(known.index(after) - 1, 0)] if older is None else _known(older, known)
    if known.index(before) >= known.index(after):
        raise UnknownReleaseError(f"Kafka {after} is not newer than {before}; exchange the two releases")
    return before, after


def _known(release: str, known: tuple[str, ...]) -> str:
    """Return the compared release that a release belongs to.

    Raises:
        UnknownReleaseError: there is none.
    """
    found = registered_release(release, known)
    if found is None:
        raise UnknownReleaseError(f"Kafka {release} was not compared (compared: {', '.join(known)})")
    return found


def _effects(
    path: str | os.PathLike[str], older: str, newer: str, on_progress: Callable[[str], None] | None
) -> Iterator[UpgradeEffect]:
    """Yield the effect of the brokers' release on each assignor of a scenario that runs in a streams group."""
    scenarios = [load(path, [("cluster.kafka", f'"{release}"')]) for release in (older, newer)]
    numbers = [i for i, spec in enumerate(scenarios[0].assignors) if _is_of_brokers(spec, scenarios[0])]
    for number in numbers:
        rows = []
        for scenario, release in zip(scenarios, (older, newer), strict=True):
            if on_progress is not None:
                on_progress(f"{scenario.name} on brokers of Kafka {release}")
            rows.append(_row(scenario, number))
        label = scenarios[0].assignors[number].label.partition("@")[0]
        yield UpgradeEffect(scenarios[0].name, label, rows[0], rows[1])


def _is_of_brokers(spec: AssignorSpec, scenario: Scenario) -> bool:
    protocol = spec.protocol or scenario.blueprint.application.group_configs.protocol
    return protocol is GroupProtocol.STREAMS and spec.info.in_streams_groups


def _row(scenario: Scenario, number: int) -> ComparisonRow:
    """Return the comparison row of one of the scenario's assignors."""
    alone = replace(scenario, assignors=(scenario.assignors[number],))
    result = run(alone, explain=False, keep_traces=False, ranges=False)
    return compare_runs(result.tables)[0]
