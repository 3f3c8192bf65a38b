"""Load a scenario file as a `Scenario`, or report all mistakes in it.

Steps: `yaml_reader` (YAML to data with lines), `overrides` (`--set`), `validation` (data to the models of `schema`),
`resolution` (references and consistency), `blueprint` (the seed-independent part of a world).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assignors import registry
from assignors.model.configs import AssignmentConfigs
from assignors.registry import AssignorLike
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.overrides import NameOverride, apply_overrides, format_override
from scenarios.language.releases import NEWEST, NEWEST_BROKERS
from scenarios.language.schema import ScenarioDocument
from scenarios.language.text_files import UnreadableError, read_text
from scenarios.language.validation import SourceMap, parse_document
from scenarios.language.yaml_reader import MAX_BYTES, TOO_LONG_MESSAGE, YamlReadError, read_yaml
from scenarios.resolution.application import resolve_application
from scenarios.resolution.assignors import (
    AssignorSpec,
    resolve_assignors,
)
from scenarios.resolution.availability_warnings import warn_about_availability
from scenarios.resolution.clients import check_membership, resolve_clients
from scenarios.resolution.closing_warnings import warn_about_closing
from scenarios.resolution.cluster import resolve_cluster
from scenarios.resolution.config_warnings import WarningContext, warn_about_configs
from scenarios.resolution.configs import check_configs, resolve_group_configs, resolve_state_configs, resolve_times
from scenarios.resolution.event_context import EventContext
from scenarios.resolution.events import resolve_events
from scenarios.resolution.expectations import resolve_expectations
from scenarios.resolution.hosts import resolve_hosts
from scenarios.resolution.imported_files import ImportedFiles
from scenarios.resolution.known_problem import KnownProblem, resolve_problem
from scenarios.resolution.limits import check_seeds, check_size
from scenarios.resolution.neighbors import MainScenario, check_neighbors, load_neighbors
from scenarios.resolution.price import resolve_price
from scenarios.resolution.reassignment_checks import check_reassignments
from scenarios.resolution.running_application import KnownTasks, check_start, resolve_tasks
from scenarios.resolution.subtopology_drafts import APPLICATION
from scenarios.resolution.traffic import resolve_traffic
from scenarios.resolution.unmodeled_warnings import check_config_releases, warn_about_unmodeled_configs
from scenarios.resolution.upgrades import Releases
from scenarios.sampling.blueprint import Blueprint, TopicDefaults
from scenarios.sampling.neighbor_worlds import neighbor_world, without_cluster_events
from scenarios.shipped import find_scenario, list_scenarios
from simulator.results.expectation import Expectation
from simulator.world.world import Application, GroupProtocol, Start, World

__all__ = ["AssignorSpec", "Mistake", "Scenario", "ScenarioError", "load", "loads"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A valid scenario.

    Attributes:
        name: the name of the scenario.
        description: what the scenario demonstrates.
        text: the YAML text.
        path: the file; None if the scenario was loaded from a text.
        assignors: the assignors to compare.
        seeds: the random seeds, one run each.
        overrides: the overrides, as paths and values.
        stated: Kafka's config keys that the scenario sets for the application and its clients.
        notes: what was inferred from imported files, one line each, to be confirmed by the user.
        warnings: valid but probably unintended values, such as events that end after the run, with file and line.
        imports: the SHA-256 of each imported file, by its name in the scenario.
        blueprint: the seed-independent part of the world.
        neighbors: the scenarios of the other applications that run on the cluster at the same time.
        broker_release: the Kafka release of the brokers; None for the newest.
        problem: the known problem that the scenario reproduces; None if it names none.
        expectations: conditions that its runs must meet.
    """

    name: str
    description: str
    text: str
    path: Path | None
    assignors: tuple[AssignorSpec, ...]
    seeds: tuple[int, ...]
    overrides: tuple[tuple[str, str], ...]
    stated: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    imports: tuple[tuple[str, str], ...]
    blueprint: Blueprint
    neighbors: tuple[Scenario, ...] = ()
    broker_release: str | None = None
    problem: KnownProblem | None = None
    expectations: tuple[Expectation, ...] = ()

    @property
    def assignment_configs(self) -> AssignmentConfigs:
        """Return the assignment configs of the application."""
        return self.blueprint.application.assignment_configs

    @property
    def remarks(self) -> Iterator[str]:
        """Yield the warnings and notes as the command line prints them, one line each."""
        for warning in self.warnings:
            yield f"warning: {warning}"
        for note in self.notes:
            yield f"note: {note}"

    def assignor_spec(self, assignor: AssignorLike, *, may_import: bool = True) -> AssignorSpec:
        """Return the spec of one assignor in this scenario.

        Args:
            assignor: a label of the scenario, which takes precedence, a registered name, `package.module:Class`, an
                instance, a class, or a callable from state to assignment.
            may_import: whether a name may import code: yes for names from a command line or from Python, no for
                names from a file.

        Returns:
            The spec.

        Raises:
            UnknownAssignorError: the assignor is unknown, or is not an assignor.
        """
        for spec in self.assignors:
            if spec.label == assignor:
                return spec
        resolved = registry.resolve(assignor, may_import=may_import)
        if isinstance(assignor, str) and assignor.partition("@")[0] in resolved.info.class_names:
            assignor = resolved.info.name
        label = assignor if isinstance(assignor, str) else resolved.label
        if assignor in (resolved.info.name, *resolved.info.aliases):  # An object or a release is what it is.
            info = resolved.info.on_brokers(self.broker_release)
            name, follows = info.name if info.release else label, resolved.info.runs_on_brokers
            return AssignorSpec(name, info, {}, self.assignment_configs, follows_brokers=follows)
        return AssignorSpec(label, resolved.info, resolved.parameters, self.assignment_configs)

    def world(
        self, seed: int, configs: AssignmentConfigs | None = None, protocol: GroupProtocol | None = None
    ) -> World:
        """Build the world of one run.

        Args:
            seed: draws replica placements and process ids that the scenario does not set, and random events.
            configs: the configs of an `AssignorSpec`; None for the application's.
            protocol: the protocol of an `AssignorSpec`; None for the application's.

        Returns:
            The world with its disturbances.

        Raises:
            NoPlanError: a reassignment strategy finds no plan.
        """
        application_protocol = self.blueprint.application.group_configs.protocol
        return self.blueprint.world(seed, configs or self.assignment_configs, protocol or application_protocol)

    def neighbor_worlds(self, world: World, seed: int) -> list[tuple[AssignorSpec, World]]:
        """Build the worlds of the neighbors, each with the first assignor that its scenario lists.

        Args:
            world: the world of this scenario, which defines brokers, their events, and the duration.
            seed: the seed of that world.

        Returns:
            The assignor and the world of each neighbor, in the order of the scenario.
        """
        worlds = []
        for neighbor in self.neighbors:
            spec = neighbor.assignors[0]
            protocol = spec.protocol or neighbor.blueprint.application.group_configs.protocol
            own = neighbor.blueprint.world(seed, spec.configs, protocol, is_neighbor=True)
            worlds.append((spec, neighbor_world(world, own)))
        return worlds


def load(
    path: str | os.PathLike[str],
    overrides: Sequence[tuple[str, str]] = (),
    name_override: NameOverride = format_override,
) -> Scenario:
    """Load a scenario from a file, or a shipped scenario by its name.

    Args:
        path: the file, or the name of a shipped scenario if no such file exists; files that the scenario imports are
            relative to its folder.
        overrides: paths in the scenario and new values, as with `--set path=value`.
        name_override: names an override in messages.

    Returns:
        The scenario.

    Raises:
        ScenarioError: the scenario is invalid; holds all mistakes.
    """
    file = find_scenario(Path(path))
    try:
        text = read_text(file, MAX_BYTES, TOO_LONG_MESSAGE)
    except UnreadableError as error:
        hint = shipped_hint(file, list_scenarios(), "scenario")
        raise ScenarioError([Mistake(str(file), error.line, "", f"{error}{hint}")]) from None
    return _load(text, str(file), file, file.parent, tuple(overrides), name_override)


def shipped_hint(file: Path, shipped: Iterable[Path], kind: str) -> str:
    """Return the closest shipped name for a file that does not exist; nothing for a path with folders.

    Args:
        file: the file.
        shipped: the shipped files.
        kind: `scenario` or `sweep`.
    """
    if file.exists() or len(file.parts) > 1:
        return ""
    names = [path.stem for path in shipped]
    return f", and no shipped {kind} ({did_you_mean(file.name.removesuffix('.yaml'), names)})"


def loads(
    text: str, source: str = "scenario", overrides: Sequence[tuple[str, str]] = (), folder: Path | None = None
) -> Scenario:
    """Load a scenario from a text.

    Args:
        text: the YAML text.
        source: the name of the text in messages, and the default name of the scenario.
        overrides: as in `load`.
        folder: the folder of imported files; None for the current directory.

    Returns:
        The scenario.

    Raises:
        ScenarioError: as in `load`.
    """
    return _load(text, source, None, folder or Path(), tuple(overrides), format_override)


def _load(
    text: str,
    source: str,
    file: Path | None,
    folder: Path,
    overrides: tuple[tuple[str, str], ...],
    name_override: NameOverride,
    main: MainScenario | None = None,
) -> Scenario:
    try:
        tree = read_yaml(text)
    except YamlReadError as error:
        raise ScenarioError([Mistake(source, error.line, "", str(error))]) from None
    if not isinstance(tree.value, dict):
        expected = "expected a mapping with cluster, application and clients"
        raise ScenarioError([Mistake(source, tree.lines[()], "", f"{expected}, found {format_value(tree.value)}")])
    mistakes = Mistakes(source)
    sources, override_mistakes = apply_overrides(tree.value, overrides, name_override)
    for mistake in override_mistakes:
        mistakes.add(mistake)
    source_map = SourceMap(source, tree.lines, sources, mistakes)
    document = parse_document(tree.value, source_map, ScenarioDocument)
    if document is None:
        raise ScenarioError(mistakes)
    warn_about_unmodeled_configs(tree.value, source_map)
    files = ImportedFiles(folder, source_map, mistakes)
    name = document.name or Path(source).stem
    if main is not None:
        main.warn(document, folder, source_map)
        document = main.adapt(document)
    check_config_releases(tree.value, document.cluster.kafka, source_map)
    blueprint, assignors, notes = _resolve(document, name, files, source_map, mistakes, is_main=main is None)
    problem = resolve_problem(document.problem, tree.value, [spec.label for spec in assignors], source_map)
    expectations = resolve_expectations(document, [spec.label for spec in assignors], source_map)
    neighbors = []
    if main is None and document.alongside:
        main = MainScenario(document, file or folder / source, folder)
        neighbors = load_neighbors(main, files, source_map, mistakes, _load_neighbor)
        if not mistakes:
            check_neighbors(blueprint, neighbors, source_map)
    mistakes.raise_any()
    return Scenario(
        name=name,
        description=(document.description or "").strip(),
        text=text,
        path=file,
        assignors=assignors,
        seeds=tuple(document.seeds),
        overrides=overrides,
        stated=_stated(document),
        notes=(*notes, *(note for neighbor in neighbors for note in neighbor.scenario.notes)),
        warnings=(*source_map.warnings, *(text for neighbor in neighbors for text in neighbor.scenario.warnings)),
        imports=tuple(sorted(files.digests.items())),
        blueprint=blueprint,
        neighbors=tuple(neighbor.scenario for neighbor in neighbors),
        broker_release=document.cluster.kafka,
        problem=problem,
        expectations=expectations,
    )


def _load_neighbor(text: str, file: Path, main: MainScenario) -> Scenario:
    return _load(text, str(file), file, file.parent, (), format_override, main)


def _stated(document: ScenarioDocument) -> tuple[str, ...]:
    keys = list(document.application.configs.model_dump(by_alias=True, exclude_unset=True))
    clients = list(valid_entries(document.clients))
    if any(client.client_rack and (client.rack or client.racks) for _, client in clients):
        keys.append("client.rack")
    if any(client.static_membership for _, client in clients):
        keys.append("group.instance.id")
    return (*keys, *sorted({f"client.tag.{tag}" for _, client in clients for tag in client.tags}))


def _resolve(
    document: ScenarioDocument,
    name: str,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
    *,
    is_main: bool,
) -> tuple[Blueprint, tuple[AssignorSpec, ...], tuple[str, ...]]:
    streams_configs, path = document.application.configs, (*APPLICATION, "configs")
    cluster = resolve_cluster(document.cluster, files, source_map, mistakes)
    application = resolve_application(document.application, cluster, files, source_map, mistakes)
    has_valid_application = not mistakes
    clients = resolve_clients(document.clients, streams_configs.num_stream_threads, source_map)
    hosts = resolve_hosts(document.hosts, document.clients, clients, source_map)
    clients.check_tags(streams_configs.rack_aware_assignment_tags, (*path, "rack.aware.assignment.tags"), source_map)
    changes: dict[str, Any] = check_configs(streams_configs, path, source_map)
    configs = AssignmentConfigs(**changes)
    traffic = resolve_traffic(document.traffic, application, files, source_map)
    known = KnownTasks.of(application.subtopologies, traffic.topics) if has_valid_application else None
    task_notes = resolve_tasks(document.clients, clients, known, source_map)
    context = EventContext(
        brokers=cluster.brokers,
        clients=clients,
        topics=traffic.topics,
        all_topics=None if cluster.all_names is None or mistakes else cluster.all_names.union(application.topics),
        traffic=traffic,
        duration_ms=document.duration if source_map.is_valid("duration") else None,
        releases=Releases(document, source_map),
        files=files,
        source_map=source_map,
        mistakes=mistakes,
    )
    context.releases.check()
    events = resolve_events(document.events, context)
    release, is_upgraded = document.cluster.kafka, context.releases.upgrades_brokers
    assignors = resolve_assignors(document.assignors, configs, clients, release, source_map, is_upgraded=is_upgraded)
    broker_configs = document.cluster.configs_of_release()
    groups = resolve_group_configs(document.application, broker_configs, document.cluster.kafka, source_map)
    protocol = GroupProtocol(streams_configs.group_protocol)
    releases = (document.application.kafka or NEWEST, document.cluster.kafka or NEWEST_BROKERS)
    check_membership(document.clients, groups[protocol], releases, source_map)
    check_start(document, {spec.protocol or protocol for spec in assignors}, source_map)
    price = resolve_price(document.price, source_map)
    check_seeds(document.seeds, source_map)
    check_size(application.num_tasks, len(clients.plans), source_map)
    defaults = TopicDefaults(broker_configs.min_insync_replicas, broker_configs.unclean_leader_election)
    blueprint = Blueprint(
        name=name,
        brokers=cluster.brokers.known or (),
        topics=tuple(traffic.topics.values()),
        topic_defaults=defaults,
        reads_from_nearest_replica=cluster.reads_from_nearest_replica,
        application=Application(
            id=document.application.id,
            subtopologies=application.subtopologies,
            assignment_configs=configs,
            group_configs=groups[protocol],
            acks_all=streams_configs.producer_acks == "all",
            state_configs=resolve_state_configs(document.application),
            times=resolve_times(document.application),
        ),
        group_configs=groups,
        clients=clients.plans,
        events=events if is_main else without_cluster_events(events),
        duration_ms=document.duration,
        start=Start(document.application.starts),
        next_rebalance_ms=document.application.next_rebalance,
        price=price,
        hosts=hosts,
    )
    if not mistakes:
        paths = {
            event.at: ("events", i, "reassignment") for i, event in valid_entries(document.events) if event.reassignment
        }
        check_reassignments(blueprint, document.seeds[0], paths, source_map)
        warn_about_availability(traffic.topics.values(), defaults, source_map)
        warn_about_configs(
            WarningContext(document, clients, cluster.brokers, application.subtopologies, assignors, source_map)
        )
        warn_about_closing(document, clients, assignors, source_map)
    return blueprint, assignors, (*application.notes, *traffic.notes, *task_notes)
