"""A scenario with several assignors and seeds, run and laid out in tables."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor_sim.api.stored_scenario import stored_scenario_path
from assignors import registry
from scenarios.assignor_specs import AssignorSpec, assignor_specs, run
from scenarios.load import Scenario
from scenarios.proofs import run_with_proofs
from simulator.assignment.explanation import ExplanationRequest
from simulator.model_version import MODEL_VERSION
from simulator.results.tables import concat_tables
from simulator.results.tabulation import tabulate
from simulator.world.world import GroupProtocol

if TYPE_CHECKING:
    import pandas as pd

    from reports.render.notebook import Plots


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunResult:
    """The tables of all runs, by name as in `simulator.results.tables.SCHEMAS`, and how they came about.

    Printed, it is the table that `assignor-sim run` prints.
    """

    tables: dict[str, pa.Table]
    manifest: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """What the reader should know before trusting the tables."""
        of_assignors = (text for one in self.manifest["assignors"] for text in _warnings(one))
        return [*self.manifest["scenario"]["warnings"], *of_assignors]

    @property
    def plot(self) -> Plots:
        """The figures, as in `comparison.plot.convergence()`."""
        from reports.render.notebook import Plots

        return Plots(self.tables)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """A result table as a data frame; without a name the comparison, one row an assignor.

        Raises:
            TableError: there is no such table.
        """
        from reports.render.notebook import data_frame

        return data_frame(self.tables, table)

    def __str__(self) -> str:
        from reports.render.terminal.comparison import render

        return render(self.tables)

    def __repr__(self) -> str:
        labels = ", ".join(one["label"] for one in self.manifest["assignors"])
        return f"<Comparison of {labels} in {self.manifest['scenario']['name']}>"

    def _repr_html_(self) -> str:
        """The comparison as notebooks show it."""
        from reports.render.notebook import comparison_html

        return comparison_html(self.tables, self.warnings)


def run_scenario(
    scenario: Scenario,
    assignors: Sequence[str] = (),
    seeds: Iterable[int] = (),
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
    question: ExplanationRequest | None = None,
    proof_limit_s: float | None = None,
) -> RunResult:
    """Simulate a scenario with every assignor and every seed.

    Args:
        scenario: what to simulate.
        assignors: as in `contestants`; those of the scenario if empty.
        seeds: those of the scenario if empty.
        command: how this came about, for the manifest.
        progress: told before each run what comes.
        question: of which tasks to explain the moves, in the tables `reasons` and `cycles`; of none if None.
        proof_limit_s: for how many seconds to look for the proven optimum of each round, as in `run_proven`, which
            the tables have in place of its lower bound; not at all if None.
    """
    chosen = assignor_specs(scenario, assignors)
    used = tuple(seeds) or scenario.seeds
    parts = []
    for one in chosen:
        for seed in used:
            progress(f"{one.choice.label}, seed {seed}")
            if proof_limit_s is None:
                trace = run(scenario, one, seed, question)
            else:
                trace = run_with_proofs(scenario, one, proof_limit_s, seed, question)
            parts.append(tabulate(trace, one.choice.label, seed))
    tables, manifest = concat_tables(parts), _manifest(scenario, chosen, used, command)
    if proof_limit_s is not None:
        manifest["proofs"] = _proofs(tables["proofs"], proof_limit_s)
    return RunResult(tables, manifest)


def _proofs(proofs: pa.Table, limit_s: float) -> dict[str, Any]:
    """How many rounds there was something to prove of, and of how many the optimum is known."""
    rows = proofs.to_pylist()
    exact = sum(row["total_cost_bound"] == row["best_known_total_cost"] for row in rows)
    return {"limit_s": limit_s, "rounds": len(rows), "proven": exact, "unproven": len(rows) - exact}


def _warnings(assignor: Mapping[str, Any]) -> Iterator[str]:
    """What is odd about an assignor of the manifest."""
    name = f"{assignor['label']} ({assignor['assignor']})"
    if assignor["ignored"]:
        yield f"{name} ignores {', '.join(assignor['ignored'])}"
    if assignor["refused"]:
        refused = ", ".join(assignor["refused"])
        yield f"{name} runs without {refused}: Kafka refuses it with group.protocol: {assignor['protocol']}"
    # Of an assignor that is not Kafka's, nobody can say what Kafka would do with it.
    if not assignor["kafka_version"]:
        return
    own = GroupProtocol.STREAMS if registry.find(assignor["assignor"]).in_streams_groups else GroupProtocol.CLASSIC
    if assignor["protocol"] != own:
        yield f"{name} is compared under group.protocol: {assignor['protocol']}; Kafka uses it in {own} groups only"


def _protocol(scenario: Scenario, one: AssignorSpec) -> GroupProtocol:
    return one.choice.protocol or scenario.blueprint.application.group_configs.protocol


def _stated(scenario: Scenario, one: AssignorSpec) -> list[str]:
    """The configs that somebody set on purpose, each once."""
    return list(dict.fromkeys((*scenario.stated, *one.choice.changed)))


def _refused(scenario: Scenario, one: AssignorSpec) -> list[str]:
    """The configs that Kafka does not start with under the protocol of these runs, which go without them."""
    is_streams_group = _protocol(scenario, one) is GroupProtocol.STREAMS
    return [key for key in _stated(scenario, one) if is_streams_group and key == "group.instance.id"]


def _manifest(scenario: Scenario, chosen: Sequence[AssignorSpec], seeds: Sequence[int], command: str) -> dict[str, Any]:
    packages = ("assignor-sim", "numpy", "ortools", "pyarrow", "simpy")
    return {
        "scenario": {
            "name": scenario.name,
            "text": scenario.text,
            "file": stored_scenario_path(scenario),
            "sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "imports": dict(scenario.imports),
            "inferred": list(scenario.notes),
            "warnings": list(scenario.warnings),
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
                "refused": _refused(scenario, one),
            }
            for one in chosen
        ],
        "seeds": list(seeds),
        "command": command,
        "model": MODEL_VERSION,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }
