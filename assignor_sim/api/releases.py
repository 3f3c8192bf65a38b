"""`sim.releases`: what changes from one Kafka release to another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from assignors.kafka_releases import registered_release
from reports.analysis.comparison import ComparisonRow, compare_runs
from reports.analysis.release_changes import ReleaseChanges, UpgradeEffect
from reports.analysis.release_differences import THREADS, measured_differences
from scenarios.language.releases import FIRST_STREAMS_GROUP_RELEASE, UnknownReleaseError, parse_release
from scenarios.load import Scenario
from scenarios.shipped import list_applications
from simulator.timeline import timeline
from simulator.world.changes import ClientDown, Disk
from simulator.world.group_configs import GroupProtocol


def releases(
    older: str | None = None,
    newer: str | None = None,
    *,
    scenarios: Iterable[str | os.PathLike[str]] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> ReleaseChanges:
    """Compare the answers of two Kafka releases, and simulate scenarios with the brokers and the clients of both.

    The numbers of different answers were measured with the released classes on random problems. For an upgrade of the
    brokers, scenarios are simulated with `cluster.kafka` set to each release; only assignors in streams groups are
    compared. For an upgrade of the clients, `application.kafka` is set to each release, on brokers of the newer one
    if its assignor of streams groups is known; the first assignor in a classic group is compared, and those in streams
    groups. A scenario in which clients of both releases behave alike, or older ones have not its group protocol, is not
    simulated for that. Assignors whose entry in the scenario states the upgraded release are left out.

    Args:
        older: release, such as `4.3`; by default the one before `newer`.
        newer: a later release; by default the newest.
        scenarios: files, or names of shipped scenarios; by default all shipped ones.
        on_progress: called with a description of each simulation before it starts.

    Returns:
        The changes.

    Raises:
        UnknownReleaseError: a release was not compared, or `newer` is not newer.
        ScenarioError: a scenario is invalid.

    Examples:
        >>> import assignor_sim as sim
        >>> changes = sim.releases("4.3", "4.4", scenarios=[])
        >>> sorted({history.name for history, _, found in changes.answers() if found.different})
        ['sticky_task_assignor', 'streams_group_sticky']
    """
    measured = measured_differences()
    before, after = _pair(older, newer, measured.releases)
    compared = {name: {before, after} <= set(history.releases) for name, history in measured.assignors.items()}
    effects: list[UpgradeEffect] = []
    client_effects: list[UpgradeEffect] = []
    same_clients: list[str] = []
    compares_brokers = {before, after} <= set(measured.brokers.patches)
    for path in list_applications() if scenarios is None else scenarios:
        if compares_brokers:
            effects += _broker_effects(path, before, after, on_progress)
        if _is_streams_group(load(path)) and parse_release(before) < FIRST_STREAMS_GROUP_RELEASE:
            continue
        brokers = [("cluster.kafka", f'"{after}"')] if after in measured.brokers.patches else []
        clients = [load(path, [("application.kafka", f'"{release}"'), *brokers]) for release in (before, after)]
        found = list(_client_effects(clients, (before, after), on_progress))
        client_effects += found
        has_stated = all("clients" in spec.states for spec in clients[0].assignors)
        same_clients += [] if found or has_stated else [clients[0].name]
    return ReleaseChanges(
        before,
        after,
        tuple(measured.assignors[name] for name in compared if compared[name]),
        tuple(name for name in compared if not compared[name] and name != THREADS),
        tuple(effects),
        tuple(client_effects),
        tuple(same_clients),
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


def _broker_effects(
    path: str | os.PathLike[str], older: str, newer: str, on_progress: Callable[[str], None] | None
) -> Iterator[UpgradeEffect]:
    """Yield the effect of the brokers' release on each assignor of a scenario that runs in a streams group."""
    scenarios = [load(path, [("cluster.kafka", f'"{release}"')]) for release in (older, newer)]
    for number, spec in enumerate(scenarios[0].assignors):
        if "brokers" in spec.states:
            continue
        if scenarios[0].protocol_of(spec) is GroupProtocol.STREAMS and spec.info.in_streams_groups:
            yield _effect(scenarios, number, ("brokers", older, newer), on_progress)


def _client_effects(
    scenarios: Sequence[Scenario], releases_: tuple[str, str], on_progress: Callable[[str], None] | None
) -> Iterator[UpgradeEffect]:
    """Yield the effect of the clients' release on assignors of a scenario, unless clients behave alike.

    Args:
        scenarios: the scenario with clients of the older, and of the newer release.
        releases_: the releases.
        on_progress: as in `releases`.
    """
    is_first_classic = True
    for number, spec in enumerate(scenarios[0].assignors):
        if "clients" in spec.states:
            continue
        is_classic = scenarios[0].protocol_of(spec) is GroupProtocol.CLASSIC
        if not (is_first_classic if is_classic else spec.info.in_streams_groups):
            continue
        is_first_classic &= not is_classic
        before, after = scenarios
        if any(_behavior(before, number, seed) != _behavior(after, number, seed) for seed in before.seeds):
            yield _effect(scenarios, number, ("clients", *releases_), on_progress)


def _behavior(scenario: Scenario, number: int, seed: int) -> tuple[object, ...]:
    """Return all on which a run of an assignor depends in which releases of clients differ."""
    world = scenario.world(seed, scenario.assignors[number])
    changes = timeline(world)
    is_killed = any(
        isinstance(timed.change, ClientDown) and timed.change.disk is Disk.UNFLUSHED_LOST for timed in changes
    )
    configs = world.application.group_configs
    reports = configs.reports_task_offsets and configs.task_offset_interval_ms is not None
    return changes, reports, world.application.state_configs if is_killed else None


def _is_streams_group(scenario: Scenario) -> bool:
    return scenario.blueprint.application.group_configs.protocol is GroupProtocol.STREAMS


def _effect(
    scenarios: Sequence[Scenario],
    number: int,
    upgrade: tuple[str, str, str],
    on_progress: Callable[[str], None] | None,
) -> UpgradeEffect:
    """Return the effect of an upgrade on an assignor of a scenario.

    Args:
        scenarios: the scenario before and after the upgrade.
        number: the position of the assignor.
        upgrade: what is upgraded, and the two releases.
        on_progress: as in `releases`.
    """
    rows = []
    what, *both = upgrade
    for scenario, release in zip(scenarios, both, strict=True):
        if on_progress is not None:
            on_progress(f"{scenario.name} with {what} of Kafka {release}")
        rows.append(_row(scenario, number))
    label = scenarios[0].assignors[number].label.partition("@")[0]
    return UpgradeEffect(scenarios[0].name, label, rows[0], rows[1])


def _row(scenario: Scenario, number: int) -> ComparisonRow:
    """Return the comparison row of one of the scenario's assignors."""
    alone = replace(scenario, assignors=(scenario.assignors[number],))
    result = run(alone, explain=False, keep_traces=False, ranges=False)
    return compare_runs(result.tables)[0]
