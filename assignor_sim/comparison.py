"""A scenario with several assignors and seeds, run and laid out in tables."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from assignors import registry
from assignors.registry import AssignorInfo
from scenarios.load import AssignorChoice, Scenario
from simulator.run import simulate
from simulator.tables import joined
from simulator.tabulation import tabulate
from simulator.trace import Trace
from simulator.world import GroupProtocol


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """An assignor that takes part: how it is labelled, what it is, and with which settings."""

    choice: AssignorChoice
    info: AssignorInfo


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The tables of all runs, by name as in `simulator.tables.SCHEMAS`, and how they came about."""

    tables: dict[str, pa.Table]
    manifest: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """What the reader should know before trusting the tables."""
        return [text for one in self.manifest["assignors"] for text in _warnings(one)]


def contestants(scenario: Scenario, names: Sequence[str] = ()) -> list[Contestant]:
    """Who is compared: what the scenario lists, or those asked for by name.

    Args:
        scenario: lists assignors; what a file lists can only be built in.
        names: labels of the scenario, or names that `registry.load` understands; these may import code.

    Raises:
        UnknownAssignorError: a name that is neither.
    """
    if not names:
        return [Contestant(choice, registry.find(choice.assignor)) for choice in scenario.assignors]
    labelled = {choice.label: choice for choice in scenario.assignors}
    found = []
    for name in names:
        if name in labelled:
            found.append(Contestant(labelled[name], registry.find(labelled[name].assignor)))
        else:
            info = registry.load(name)
            choice = AssignorChoice(name, info.name, {}, scenario.assignment_configs)
            found.append(Contestant(choice, info))
    return found


def run(scenario: Scenario, assignor: str | Contestant, seed: int | None = None) -> Trace:
    """Simulate a scenario with one assignor.

    Args:
        scenario: what to simulate.
        assignor: a label of the scenario, or a name that `registry.load` understands.
        seed: the scenario's first if None.
    """
    one = assignor if isinstance(assignor, Contestant) else contestants(scenario, [assignor])[0]
    world = scenario.world(scenario.seeds[0] if seed is None else seed, one.choice.configs, one.choice.protocol)
    return simulate(world, registry.make(one.info, one.choice.parameters), one.info.traffic_cost)


def compare(
    scenario: Scenario,
    assignors: Sequence[str] = (),
    seeds: Iterable[int] = (),
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Simulate a scenario with every assignor and every seed.

    Args:
        scenario: what to simulate.
        assignors: as in `contestants`; those of the scenario if empty.
        seeds: those of the scenario if empty.
        command: how this came about, for the manifest.
        progress: told before each run what comes.
    """
    chosen = contestants(scenario, assignors)
    used = tuple(seeds) or scenario.seeds
    parts = []
    for one in chosen:
        for seed in used:
            progress(f"{one.choice.label}, seed {seed}")
            parts.append(tabulate(run(scenario, one, seed), one.choice.label, seed))
    return Comparison(joined(parts), _manifest(scenario, chosen, used, command))


def _warnings(assignor: Mapping[str, Any]) -> Iterator[str]:
    """What is odd about an assignor of the manifest."""
    name = f"{assignor['label']} ({assignor['assignor']})"
    if assignor["ignored"]:
        yield f"{name} ignores {', '.join(assignor['ignored'])}"
    # Of an assignor that is not Kafka's, nobody can say what Kafka would do with it.
    if not assignor["kafka_version"]:
        return
    own = GroupProtocol.STREAMS if registry.find(assignor["assignor"]).in_streams_groups else GroupProtocol.CLASSIC
    if assignor["protocol"] != own:
        yield f"{name} is compared under group.protocol: {assignor['protocol']}; Kafka uses it in {own} groups only"


def _protocol(scenario: Scenario, one: Contestant) -> GroupProtocol:
    return one.choice.protocol or scenario.blueprint.application.group_configs.protocol


def _stated(scenario: Scenario, one: Contestant) -> list[str]:
    """The configs that somebody set on purpose, each once."""
    return list(dict.fromkeys((*scenario.stated, *one.choice.changed)))


def _manifest(scenario: Scenario, chosen: Sequence[Contestant], seeds: Sequence[int], command: str) -> dict[str, Any]:
    packages = ("assignor-sim", "numpy", "ortools", "pyarrow", "simpy")
    return {
        "scenario": {
            "name": scenario.name,
            "text": scenario.text,
            "sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "imports": dict(scenario.imports),
            "inferred": list(scenario.notes),
            "overrides": [f"{path}={value}" for path, value in scenario.overrides],
        },
        "assignors": [
            {
                "label": one.choice.label,
                "assignor": one.info.name,
                "kafka_version": one.info.kafka_version,
                "parameters": dict(one.choice.parameters),
                "configs": dataclasses.asdict(one.choice.configs),
                "protocol": str(_protocol(scenario, one)),
                "ignored": [key for key in _stated(scenario, one) if one.info.ignores(key)],
            }
            for one in chosen
        ],
        "seeds": list(seeds),
        "command": command,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }
