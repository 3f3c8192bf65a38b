"""Result of `sim.run`, in memory or read back from a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor_sim.text_files import write_text
from assignors import registry
from assignors.errors import UnknownAssignorError
from scenarios.load import AssignorSpec, Scenario
from simulator.results.result_directory import ResultsError, read_results
from simulator.results.trace import Trace
from simulator.world.group_configs import GroupProtocol

if TYPE_CHECKING:
    import pandas as pd

    from reports.analysis.expectations import ExpectationResult
    from reports.analysis.explanation import Explanation, MoveList
    from reports.render.notebook import Plots


@dataclass(frozen=True, slots=True, eq=False)
class TaskExplanations:
    """Explanations of one task, one per assignor; `print` shows them as `assignor-sim explain` does.

    Attributes:
        explanations: the explanations, in the order of the assignors.
        remarks: where the cost at which the task would have stayed is unknown, the reason.
    """

    explanations: tuple[Explanation, ...]
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def __getitem__(self, index: int) -> Explanation:
        return self.explanations[index]

    def __str__(self) -> str:
        from reports.render.explanation import explanation_report
        from reports.render.report_formats import report_text

        return report_text(explanation_report(self.explanations))


@dataclass(frozen=True, slots=True, eq=False)
class MoveLists:
    """The moves of all tasks, one list per assignor; `print` shows them as `assignor-sim explain` does.

    Attributes:
        lists: the lists, in the order of the assignors.
    """

    lists: tuple[MoveList, ...]

    def __iter__(self) -> Iterator[MoveList]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, index: int) -> MoveList:
        return self.lists[index]

    def __str__(self) -> str:
        from reports.render.explanation import moves_report
        from reports.render.report_formats import report_text

        return report_text(moves_report(self.lists))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunResult:
    """Tables of one or several runs of a scenario, with the scenario, the assignors and the traces.

    `print(result)` shows the table that `assignor-sim run` prints; a notebook shows it as HTML.

    Attributes:
        tables: result tables by name, as in `simulator.results.tables.SCHEMAS`.
        manifest: everything that identifies the runs: scenario, assignors, seeds, versions.
        scenario: the scenario; None if the result was read from a directory.
        specs: the assignors by label; empty if the result was read from a directory.
        traces: the traces by label and seed; empty if the result was read from a directory, or without traces.
        directory: the directory that the result was read from; None otherwise.
    """

    tables: dict[str, pa.Table]
    manifest: dict[str, Any]
    scenario: Scenario | None = None
    specs: Mapping[str, AssignorSpec] = field(default_factory=dict)
    traces: Mapping[tuple[str, int], Trace] = field(default_factory=dict)
    directory: Path | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the assignors, in the order of the runs."""
        return tuple(str(assignor["label"]) for assignor in self.manifest["assignors"])

    @property
    def seeds(self) -> tuple[int, ...]:
        """Random seeds of the runs."""
        return tuple(self.manifest["seeds"])

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, of the scenario and of its assignors."""
        of_assignors = (text for assignor in self.manifest["assignors"] for text in _warnings(assignor))
        return [*self.manifest["scenario"]["warnings"], *of_assignors]

    @property
    def trace(self) -> Trace:
        """The trace of the only run.

        Raises:
            ResultsError: the result holds no trace, or several (`traces[label, seed]`).
        """
        if not self.traces:
            source = f"{self.directory}: holds tables, not traces" if self.directory else "this run kept no traces"
            raise ResultsError(f"{source}; simulate again with sim.run")
        if len(self.traces) > 1:
            keys = ", ".join(map(str, self.traces))
            raise ResultsError(f"this result has {len(self.traces)} traces; choose one: result.traces[{keys}]")
        return next(iter(self.traces.values()))

    @property
    def plot(self) -> Plots:
        """Figures by name, as in `result.plot.convergence()`; `dir(result.plot)` lists them."""
        from reports.render.notebook import Plots

        return Plots(self.tables)

    def summary(self) -> pd.DataFrame:
        """Return the comparison, one row per assignor, with one column per metric."""
        return self.to_pandas()

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a result table, or without a name the comparison of `summary`.

        Args:
            table: name of a result table, such as `rounds`; `result.tables` has the names.

        Returns:
            The table as a data frame.

        Raises:
            TableError: the result has no such table.
        """
        from reports.render.notebook import data_frame

        return data_frame(self.tables, table)

    def expectations(self) -> list[ExpectationResult]:
        """Return the expectations of the scenario, checked on these runs: `is_met`, and the text of `str`.

        Raises:
            ResultsError: the result was read from a directory, and holds no scenario.
        """
        from reports.analysis.expectations import check_expectations

        if self.scenario is None:
            raise ResultsError(f"{self.directory}: holds no expectations; simulate again with sim.run")
        return check_expectations(self.tables["runs"].to_pylist(), self.scenario.expectations)

    def explain(
        self,
        task: str,
        round: int | None = None,
        *,
        assignor: str | None = None,
        seed: int | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> TaskExplanations:
        """Explain why a task moved: the steps of the assignor, and the cost at which the task would have stayed.

        Simulates the run again to find that cost.

        Args:
            task: task id, as in `0_3`.
            round: number of a rebalance; by default all.
            assignor: label of an assignor; by default all.
            seed: random seed of the run; by default the first of each assignor.
            on_progress: called with a description of each step.

        Returns:
            One explanation per assignor; printable.

        Raises:
            ExplanationError: the result has no such task, round or seed, or its runs recorded no reasons.
            RunLookupError: the result has no assignor of that label.
        """
        from assignor_sim.api.explanations import explain

        return explain(self, task, round, [] if assignor is None else [assignor], seed, on_progress)

    def list_moves(
        self, round: int | None = None, *, assignor: str | None = None, seed: int | None = None
    ) -> MoveLists:
        """List the moves of all tasks, with their reasons and downtimes.

        Args:
            round: number of a rebalance; by default all after the initial assignment.
            assignor: label of an assignor; by default all.
            seed: random seed of the run; by default the first of each assignor.

        Returns:
            One list per assignor; printable.

        Raises:
            ExplanationError: the result has no such round or seed, or its runs recorded no reasons.
            RunLookupError: the result has no assignor of that label.
        """
        from assignor_sim.api.explanations import list_moves

        return list_moves(self, round, [] if assignor is None else [assignor], seed)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML page with tables and figures.

        Args:
            path: the file to write.

        Returns:
            The path of the file.
        """
        from reports.render.page import page

        write_text(Path(path), page(self.tables, self.manifest))
        return Path(path)

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write tables, an HTML page and the scenario to a directory, for `sim.open` and the commands.

        Args:
            directory: a new or empty directory, or one with earlier results.

        Returns:
            The path of the directory.

        Raises:
            ResultsError: the directory holds something else or cannot be written, or this result is a saved one.
            StoredScenarioError: an imported file has changed since the scenario was loaded.
        """
        from assignor_sim.api.stored_scenario import stored_scenario_files
        from reports.render.page import page
        from simulator.results.result_directory import write_results

        if self.scenario is None:
            raise ResultsError(f"{self.directory}: is saved already; copy the directory")
        files = {"report.html": page(self.tables, self.manifest).encode(), **stored_scenario_files(self.scenario)}
        write_results(Path(directory), self.tables, self.manifest, files)
        return Path(directory)

    def __str__(self) -> str:
        from reports.render.terminal.comparison import render

        return render(self.tables)

    def __repr__(self) -> str:
        return f"<RunResult of {', '.join(self.labels)} in {self.manifest['scenario']['name']}>"

    def _repr_html_(self) -> str:
        """Return the comparison as HTML, for notebooks."""
        from reports.render.notebook import comparison_html

        return comparison_html(self.tables, self.warnings)


def open(directory: str | os.PathLike[str]) -> RunResult:
    """Read a result from a directory that `RunResult.save` or `assignor-sim run --out` wrote.

    The result has the same methods as in memory, but no traces.

    Args:
        directory: the directory.

    Returns:
        The result.

    Raises:
        ResultsError: the directory holds no results of runs.
    """
    path = Path(directory)
    tables, manifest = read_results(path)
    return RunResult(tables, manifest, directory=path)


def _warnings(assignor: Mapping[str, Any]) -> Iterator[str]:
    """Yield reasons to doubt the figures of an assignor of the manifest."""
    name = f"{assignor['label']} ({assignor['assignor']})"
    if assignor["ignored"]:
        yield f"{name} ignores {', '.join(assignor['ignored'])}"
    if assignor["refused"]:
        refused = ", ".join(assignor["refused"])
        yield f"{name} runs without {refused}: Kafka refuses it with group.protocol: {assignor['protocol']}"
    if not assignor["kafka_version"]:
        return
    try:
        in_streams_groups = registry.find(assignor["assignor"]).in_streams_groups
    except UnknownAssignorError:  # a result of another release
        return
    usual = GroupProtocol.STREAMS if in_streams_groups else GroupProtocol.CLASSIC
    if assignor["protocol"] != usual:
        yield f"{name} is compared under group.protocol: {assignor['protocol']}; Kafka uses it in {usual} groups only"
