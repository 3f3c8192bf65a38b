"""Load a scenario file as a `Scenario`, or report all mistakes in it.

Steps: `read_scenario` (YAML and `--set` to the models of `schema`), `consumer_groups` (a document for the application
and each consumer group), `resolution.document` (references and consistency; the seed-independent part of a world), and
`neighbors` (the scenarios that run alongside).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from assignors import registry
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import UnknownAssignorError
from assignors.model.configs import AssignmentConfigs
from assignors.registry import AssignorLike
from scenarios.language.application_entries import list_clients
from scenarios.language.consumer_entries import ConsumerGroupEntry
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.overrides import NameOverride, Overrides, apply_overrides, format_override, override_text
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import KafkaReleases
from scenarios.language.text_files import UnreadableError, read_text
from scenarios.language.validation import SourceMap, parse_document
from scenarios.language.yaml_reader import MAX_BYTES, TOO_LONG_MESSAGE, YamlReadError, read_yaml
from scenarios.references import ImportedFiles
from scenarios.resolution.assignors import AssignorSpec, FileOfReleases, consumer_assignor_spec, files_of_releases
from scenarios.resolution.configs import (
    check_config_releases,
    check_transaction_timeout,
    stated_configs,
    warn_about_unmodeled_configs,
)
from scenarios.resolution.consumer_groups import GroupDocument, split_groups
from scenarios.resolution.document import ResolvedDocument, resolve_document
from scenarios.resolution.expectations import KnownProblem, resolve_expectations, resolve_problem
from scenarios.resolution.measured_traffic import measured_files
from scenarios.resolution.neighbors import (
    MainScenario,
    check_neighbors,
    neighbor_world,
)
from scenarios.sampling.blueprint import Blueprint
from scenarios.schema import AssignorSettings, ScenarioDocument, ScenarioFileDocument
from scenarios.shipped import find_scenario, list_scenarios
from simulator.results.files import open_regular
from simulator.results.run_metrics import Expectation
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import World


@dataclass(frozen=True, slots=True)
class ParsedScenario:
    """The parsed text of a scenario; not yet checked is how its values fit together.

    `document` has an `InvalidEntry` in place of each invalid list entry. `data`: without invalid values. `as_written`:
    the data with `clients` in the form of the text. `mistakes`: those so far; the source map adds to them.
    """

    document: ScenarioFileDocument
    data: dict[str, Any]
    as_written: dict[str, Any]
    source_map: SourceMap
    mistakes: Mistakes


def read_scenario(
    text: str, source: str, overrides: Sequence[tuple[str, str]], name_override: NameOverride
) -> ParsedScenario:
    """Parse the text of a scenario in spite of mistakes.

    `source`: the name of the text in messages; `overrides`: paths and new values. Returns the parsed scenario, with the
    mistakes in single values. Raises ScenarioError if the text is not YAML, or a required part is invalid; the message
    holds all mistakes so far.
    """
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
    as_written = list_clients(tree.value, tree.lines, sources)
    present = {name for name in ("application", "clients", "consumers") if tree.value.get(name) is not None}
    document = parse_document(tree.value, source_map, ScenarioFileDocument)
    _report_missing_parts(present, source_map)
    if document is None:
        raise ScenarioError(mistakes)
    return ParsedScenario(document, tree.value, as_written, source_map, mistakes)


def _report_missing_parts(present: Collection[str], source_map: SourceMap) -> None:
    """Report that a scenario has neither an application with clients nor consumer groups.

    `present`: the keys of the scenario, also of sections with mistakes.
    """
    if "consumers" not in present:
        for name in ("application", "clients"):
            if name not in present:
                source_map.add_mistake((name,), "missing")


@dataclass(frozen=True, slots=True)
class PackedImports:
    """Imported files by their relative paths in another directory.

    `folder`: the folder in which to put the scenario, so that its relative paths lead to these files.
    """

    folder: PurePosixPath
    files: dict[str, bytes]


def packed_scenario_folder(names: Iterable[str]) -> PurePosixPath:
    """Return a folder deep enough that imported names with `..` stay within the directory."""
    up = max((PurePosixPath(name).parts.count("..") for name in names), default=0)
    return PurePosixPath(*["up"] * up)


def pack_imports(folder: Path, names: Iterable[str]) -> PackedImports:
    """Read the files that a scenario imports; of an ingested directory, the tables that scenarios use.

    Absolute paths are skipped: they stay valid on the same machine. Raises OSError if a file cannot be read; and
    ScenarioError if two different files would get the same path, because a folder in a name is a symbolic link.
    """
    names = sorted(name for name in names if not PurePosixPath(name).is_absolute())
    base_folder = packed_scenario_folder(names)
    files: dict[str, bytes] = {}
    for name in names:
        for extra in _parts(folder / name):
            path, content = _within(base_folder, name, extra), _content(folder / name / extra)
            if files.setdefault(path, content) != content:
                message = "is another file than that of the same path without symbolic links; name it without '..'"
                raise ScenarioError([Mistake(str(folder / name), None, "", message)])
    return PackedImports(base_folder, files)


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        return opened.read()


def _parts(path: Path) -> Iterator[str]:
    if path.is_dir():
        yield from (file.relative_to(path).as_posix() for file in measured_files(path))
    else:
        yield ""


def _within(folder: PurePosixPath, *names: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(*names).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


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
        client_release: the Kafka release of the clients; None for the newest.
        problem: the known problem that the scenario reproduces; None if it names none.
        expectations: conditions that its runs must meet.
        group: the consumer group that the scenario is about; None for an application of Kafka Streams.
        of_releases: the scenario with the releases of assignors that have their own, and only these assignors.
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
    client_release: str | None = None
    problem: KnownProblem | None = None
    expectations: tuple[Expectation, ...] = ()
    group: ConsumerGroupEntry | None = None
    of_releases: Mapping[KafkaReleases, Scenario] = field(default_factory=dict)

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
        if self.group is not None:
            if not isinstance(assignor, str):
                raise UnknownAssignorError("consumer groups have Kafka's assignors only; name one, such as uniform")
            return consumer_assignor_spec(assignor, self.group, self.broker_release)
        try:
            resolved = registry.resolve(assignor, may_import=may_import)
        except UnknownAssignorError as error:
            labels = ", ".join(spec.label for spec in self.assignors)
            known = (
                f"; labels of {self.name}: {labels}"
                if labels and isinstance(assignor, str) and ":" not in assignor
                else ""
            )
            raise UnknownAssignorError(f"{error}{known}") from error
        if isinstance(assignor, str) and assignor.partition("@")[0] in resolved.info.class_names:
            assignor = resolved.info.name
        label = assignor if isinstance(assignor, str) else resolved.label
        if assignor in (resolved.info.name, *resolved.info.aliases):  # An object or a release is what it is.
            info = resolved.info.in_group(self.broker_release, self.client_release)
            name, follows = info.name if info.release else label, resolved.info.follows_release
            return AssignorSpec(name, info, {}, self.assignment_configs, follows_release=follows)
        return AssignorSpec(label, resolved.info, resolved.parameters, self.assignment_configs)

    def require_application(self, command: str) -> None:
        """Reject a scenario about a consumer group for a command that knows applications of Kafka Streams only.

        Raises:
            ScenarioError: the scenario is about a consumer group.
        """
        if self.group is not None:
            message = f"{command} needs an application of Kafka Streams, not the consumer group '{self.group.group}'"
            supported = "consumer groups: run, checkup, compare, sweep, diff, explain, report, record, verify"
            raise ScenarioError([Mistake(str(self.path or self.name), None, "consumers", f"{message} ({supported})")])

    def of(self, spec: AssignorSpec) -> Scenario:
        """Return the scenario with the Kafka releases of the runs with an assignor."""
        return self if spec.releases is None else self.of_releases[spec.releases]

    def protocol_of(self, spec: AssignorSpec) -> GroupProtocol:
        """Return the group protocol of the runs with an assignor."""
        return spec.protocol or self.blueprint.application.group_configs.protocol

    def world(self, seed: int, spec: AssignorSpec | None = None) -> World:
        """Build the world of one run.

        Args:
            seed: draws replica placements and process ids that the scenario does not set, and random events.
            spec: the assignor, with its releases, group protocol and configs; None for those of the application.

        Returns:
            The world with its disturbances.

        Raises:
            NoPlanError: a reassignment strategy finds no plan.
        """
        if spec is None:
            return self.blueprint.world(seed)
        return self.of(spec).blueprint.world(seed, spec.configs, self.protocol_of(spec))

    def neighbor_worlds(self, world: World, spec: AssignorSpec, seed: int) -> list[tuple[AssignorSpec, World]]:
        """Build the worlds of the neighbors, each with the first assignor that its scenario lists.

        Args:
            world: the world of this scenario, which defines brokers, their events, and the duration.
            spec: the assignor of that world.
            seed: the seed of that world.

        Returns:
            The assignor and the world of each neighbor, in the order of the scenario.
        """
        worlds = []
        for neighbor in self.of(spec).neighbors:
            first = neighbor.assignors[0]
            blueprint, protocol = neighbor.of(first).blueprint, neighbor.protocol_of(first)
            own = blueprint.world(seed, first.configs, protocol, is_neighbor=True)
            worlds.append((first, neighbor_world(world, own)))
        return worlds


def load(
    path: str | os.PathLike[str],
    overrides: Overrides = (),
    name_override: NameOverride = format_override,
) -> Scenario:
    """Load a scenario from a file, or a shipped scenario by its name.

    `path`: the file, or the name of a shipped scenario if no such file exists; files that the scenario imports are
    relative to its folder. `overrides`: paths in the scenario and new values, as with `--set path=value`: pairs or a
    mapping. Raises ScenarioError if the scenario is invalid; the message holds all mistakes.
    """
    file = find_scenario(Path(path))
    try:
        text = read_text(file, MAX_BYTES, TOO_LONG_MESSAGE)
    except UnreadableError as error:
        hint = shipped_hint(file, list_scenarios(), "scenario")
        raise ScenarioError([Mistake(str(file), error.line, "", f"{error}{hint}")]) from None
    return _load(text, str(file), file, file.parent, _written(overrides), name_override)


def shipped_hint(file: Path, shipped: Iterable[Path], kind: str) -> str:
    """Return the closest shipped name for a file that does not exist; nothing for a path with folders.

    `kind`: `scenario` or `sweep`.
    """
    if file.exists() or len(file.parts) > 1:
        return ""
    names = [path.stem for path in shipped]
    return f", and no shipped {kind} ({did_you_mean(file.name.removesuffix('.yaml'), names)})"


def loads(text: str, source: str = "scenario", overrides: Overrides = (), folder: Path | None = None) -> Scenario:
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
    return _load(text, source, None, folder or Path(), _written(overrides), format_override)


def _written(overrides: Overrides) -> tuple[tuple[str, str], ...]:
    """Return the overrides as texts; raise ScenarioError if they are not pairs of a path and a value."""
    pairs = overrides.items() if isinstance(overrides, Mapping) else overrides
    written: list[tuple[str, str]] = []
    mistakes: list[Mistake] = []
    for position, pair in enumerate(pairs if isinstance(pairs, Iterable) and not isinstance(pairs, str) else [pairs]):
        match pair:
            case (str(path), value):
                written.append((path, override_text(value)))
            case _:
                problem = f"{pair!r:.60} is not a pair of a path and a value, such as ('duration', '30m')"
                mistakes.append(Mistake(f"overrides[{position}]", None, "", problem))
    if mistakes:
        raise ScenarioError(mistakes)
    return tuple(written)


def _load(
    text: str,
    source: str,
    file: Path | None,
    folder: Path,
    overrides: tuple[tuple[str, str], ...],
    name_override: NameOverride,
    main: MainScenario | None = None,
) -> Scenario:
    parsed = read_scenario(text, source, overrides, name_override)
    source_map, mistakes = parsed.source_map, parsed.mistakes
    warn_about_unmodeled_configs(parsed.data, source_map)
    if parsed.document.application is not None:
        check_transaction_timeout(parsed.data, parsed.document.application, source_map)
    own, groups = split_groups(parsed.document, source_map, mistakes)
    if own is None:
        mistakes.raise_any()
        raise ScenarioError([Mistake(source, None, "", "neither an application nor a consumer group")])
    document = own.document
    files = ImportedFiles(folder, source_map, mistakes)
    name = document.name or Path(source).stem
    if main is not None:
        main.warn(document, folder, source_map)
        for group in groups:
            main.warn_about_group(group.document, group.source_map)
        document, groups = main.adapt(document), []
    resolved = resolve_document(document, name, files, own.source_map, mistakes, is_main=main is None)
    labels = [spec.label for spec in resolved.assignors]
    problem = resolve_problem(document.problem, parsed.as_written, labels, source_map)
    expectations = resolve_expectations(document, labels, own.source_map)
    alongside: list[tuple[ScenarioPath, str, Scenario]] = []
    if main is None and document.alongside:
        described = MainScenario(document, file or folder / source, folder)
        alongside = list(_load_alongside(described, files, source_map, mistakes))
    beside = [
        (group.path, group.document.application.id, _load_group(group, name, text, file, files, mistakes))
        for group in groups
    ]
    neighbors = tuple(scenario for _, _, scenario in (*alongside, *beside))
    if not mistakes:
        located = ((path, label, scenario.blueprint) for path, label, scenario in (*alongside, *beside))
        check_neighbors(resolved.blueprint, located, source_map)
    scenario = replace(
        _scenario(document, resolved, name, text, file),
        description=(document.description or "").strip(),
        overrides=overrides,
        notes=(*resolved.notes, *(note for neighbor in neighbors for note in neighbor.notes)),
        imports=tuple(sorted(files.digests.items())),
        neighbors=neighbors,
        problem=problem,
        expectations=expectations,
    )
    others = [] if own.path else list(files_of_releases(parsed.document, source_map, mistakes))
    of_releases = {
        other.releases: _with_releases(
            other, replace(scenario, neighbors=neighbors[: len(alongside)]), folder, mistakes, main
        )
        for other in others
    }
    is_own_used = not others or any(spec.releases is None for spec in resolved.assignors)
    brokers = {document.cluster.kafka: source_map} if is_own_used else {}
    check_config_releases(parsed.data, {other.releases.brokers: other.source_map for other in others} | brokers)
    mistakes.raise_any()
    warnings = (*source_map.warnings, *(text for neighbor in neighbors for text in neighbor.warnings))
    return replace(scenario, warnings=warnings, of_releases=of_releases)


def _scenario(
    document: ScenarioDocument, resolved: ResolvedDocument, name: str, text: str, file: Path | None
) -> Scenario:
    """Return the scenario of a document, without what the file says beside it."""
    return Scenario(
        name=name,
        description="",
        text=text,
        path=file,
        assignors=resolved.assignors,
        seeds=tuple(document.seeds),
        overrides=(),
        stated=stated_configs(document),
        notes=resolved.notes,
        warnings=(),
        imports=(),
        blueprint=resolved.blueprint,
        broker_release=document.cluster.kafka,
        client_release=document.application.kafka,
        group=resolved.group,
    )


def _with_releases(
    other: FileOfReleases, scenario: Scenario, folder: Path, mistakes: Mistakes, main: MainScenario | None
) -> Scenario:
    """Return a scenario with the releases of some of its assignors, and only these assignors.

    `scenario`: the scenario with its own releases; its neighbors are those of other files. `folder`: the folder of
    imported files. `main`: the scenario beside which it runs, if any.
    """
    own, groups = split_groups(other.file, other.source_map, mistakes)
    assert own is not None  # The subject is the application, as in the scenario.
    document, files = own.document, ImportedFiles(folder, other.source_map, mistakes)
    if main is not None:
        document, groups = main.adapt(document), []
    resolved = resolve_document(
        document,
        scenario.name,
        files,
        own.source_map,
        mistakes,
        is_main=main is None,
        assignors=scenario.assignors,
        releases=other.releases,
    )
    beside = (_load_group(group, scenario.name, scenario.text, scenario.path, files, mistakes) for group in groups)
    paths = {"cluster.kafka": other.releases.brokers, "application.kafka": other.releases.clients}
    return replace(
        scenario,
        assignors=tuple(replace(spec, releases=None) for spec in scenario.assignors if spec.releases == other.releases),
        overrides=(
            *scenario.overrides,
            *((path, f'"{release}"') for path, release in paths.items() if release is not None),
        ),
        blueprint=resolved.blueprint,
        neighbors=(*scenario.neighbors, *beside),
        broker_release=other.releases.brokers,
        client_release=other.releases.clients,
    )


def _load_group(
    group: GroupDocument, name: str, text: str, file: Path | None, files: ImportedFiles, mistakes: Mistakes
) -> Scenario:
    """Return a group that runs beside the subject of a scenario, as a scenario of its own."""
    for i, entry in valid_entries(group.document.assignors):
        if isinstance(entry, AssignorSettings) and entry.kafka is not None:
            message = "applies only to the group that the results are about; state cluster.kafka and application.kafka"
            group.source_map.add_mistake(("assignors", i, "kafka"), message)
    document = group.document.model_copy(update={"other_traffic": None})
    resolved = resolve_document(document, name, files, group.source_map, mistakes, is_main=False)
    return _scenario(document, resolved, name, text, file)


def _load_alongside(
    main: MainScenario, files: ImportedFiles, source_map: SourceMap, mistakes: Mistakes
) -> Iterator[tuple[ScenarioPath, str, Scenario]]:
    """Yield the valid scenarios that run alongside another one, each with its path and file name there.

    `files` gets the digests of all that they import; `mistakes`: collects those in these scenarios.
    """
    for i, name in valid_entries(main.document.alongside):
        path: ScenarioPath = ("alongside", i)
        file = main.folder / name
        if os.path.realpath(file) == os.path.realpath(main.file):
            message = f"{format_value(name)} is this scenario itself; list the scenarios of other applications"
            source_map.add_mistake(path, message)
            continue
        content = files.read(path, name, str, MAX_BYTES)
        if content is None:
            continue
        try:
            scenario = _load(content.content, str(file), file, file.parent, (), format_override, main)
        except ScenarioError as error:
            for mistake in error.mistakes:
                mistakes.add(mistake)
            continue
        # A file that the neighbor imports is relative to the folder of the neighbor.
        for imported, digest in scenario.imports:
            files.digests[str(PurePosixPath(name).parent / imported)] = digest
        yield path, name, scenario


def assignor_specs(
    scenario: Scenario,
    assignors: Iterable[AssignorLike] = (),
    *,
    may_import: bool = True,
    limits: CallLimits = DEFAULT_LIMITS,
) -> list[AssignorSpec]:
    """Return the specs of several assignors in a scenario; labels that occur before get a number.

    `assignors`: as in `Scenario.assignor_spec`; by default those that the scenario lists. `limits`: limits of custom
    assignors.
    """
    specs = [scenario.assignor_spec(assignor, may_import=may_import) for assignor in assignors]
    unique: dict[str, AssignorSpec] = {}
    for spec in specs or scenario.assignors:
        label, number = spec.label, 1
        while label in unique:
            number += 1
            label = f"{spec.label} #{number}"
        unique[label] = replace(spec, label=label, limits=limits)
    return list(unique.values())
