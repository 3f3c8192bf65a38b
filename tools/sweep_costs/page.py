"""The section of docs/development/pipeline-performance.md about the costs of large sweeps; no figure in it is typed."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.batches import Batch, plan_batches
from tools.sweep_costs.measuring import RunCosts, measure
from tools.sweep_costs.schedule import ComputedExecution, Overheads, execute

BEGIN = "<!-- Measured and computed by `python -m tools.pipeline_benchmark --costs FILE --write`. -->"
END = "<!-- End of the computed figures. -->"
CORES = (2, 16, 100, 1_000)
MEASUREMENTS: tuple[tuple[str, int, *tuple[float, ...]], ...] = (
    ("process", 200),
    ("pool", 400),
    ("spark", 400),
    ("overhead", 400, 1e9),
    ("overhead", 2_000, 1e9),
    ("overhead", 20_000, 160_000.0),
    ("large", 1),
)
_TITLES = {
    "process": "one process",
    "pool": "pool of 2 processes, with its start",
    "spark": "Spark, 2 cores, without its start",
    "overhead": "Spark, 2 cores, without simulation",
    "large": "one process, large run",
}
_SKEW = 1_000

Figures = Sequence[tuple[str, RunCosts]]


@dataclass(frozen=True, slots=True)
class Workload:
    """Runs whose execution is computed.

    Attributes:
        title: what they are.
        run_s: shape (runs,); core time of each run.
        batches: their division into batches, in the order of execution.
    """

    title: str
    run_s: NDArray[np.float64]
    batches: Sequence[Batch]


def measured_figures(file: Path) -> Figures:
    """Return the figures of a JSON file; measure them first if the file does not exist."""
    if not file.exists():
        figures = [[name, asdict(measure(name, *arguments))] for name, *arguments in MEASUREMENTS]
        file.write_text(json.dumps(figures), encoding="utf-8")
    return [(name, RunCosts(**content)) for name, content in json.loads(file.read_text(encoding="utf-8"))]


def with_costs(text: str, figures: Figures) -> str:
    """Return the page with the section between its marks replaced."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n" + "\n".join(_section(figures)) + f"\n\n{END}{tail}"


def overheads(figures: Figures) -> Overheads:
    """Return the times besides the runs, from sweeps of two sizes without simulation."""
    by_size = sorted((measured for name, measured in figures if name == "overhead"), key=lambda one: one.runs)
    few, many = by_size[0], by_size[-1]
    # Where several batches run, the time in which one writes is also that in which it waits for a core.
    batches = np.array([batch for measured in by_size for batch in measured.batches if len(measured.batches) == 1])
    written_run_s, batch_s = np.polyfit(batches[:, 0], batches[:, 1], 1)
    return Overheads(
        run_s=(many.cpu_s - few.cpu_s) / (many.runs - few.runs),
        driver_s=many.table_s / many.runs,
        batch_s=max(0.0, float(batch_s)),
        written_run_s=max(0.0, float(written_run_s)),
    )


def workloads(small_s: float, large_s: float) -> Iterator[Workload]:
    """Yield the sweeps of the table.

    `small_s`: core time of a small run; `large_s`: core time of a large run.
    """
    for title, run_s in (
        ("1,000,000 small runs", np.full(1_000_000, small_s)),
        ("1,000 large runs", np.full(1_000, large_s)),
        (
            f"10,000 small runs, the last setting (10 runs) {_SKEW:,} times costlier",
            np.concatenate((np.full(9_990, small_s), np.full(10, small_s * _SKEW))),
        ),
    ):
        batches = plan_batches(run_s * 1_000)
        yield Workload(title, run_s, batches)
    yield Workload("the same in the order of the settings", run_s, _in_order(batches))


def _in_order(batches: Sequence[Batch]) -> list[Batch]:
    """Return batches and their chunks in the order of the runs."""
    ordered = sorted(batches, key=lambda batch: batch.number)
    return [replace(batch, chunks=tuple(sorted(batch.chunks, key=lambda chunk: chunk.start))) for batch in ordered]


def _section(figures: Figures) -> Iterator[str]:
    yield f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."
    yield ""
    yield "| runs by | runs | CPU time per run | runs per second and core |"
    yield "|---|---|---|---|"
    for name, one in figures:
        yield f"| {_TITLES[name]} | {one.runs:,} | {_time(one.cpu_s / one.runs)} | {one.runs / one.cpu_s:,.2f} |"
    yield ""
    yield "| driver, without simulation | peak memory of Python | of Java | its time per run |"
    yield "|---|---|---|---|"
    for name, one in figures:
        if name == "overhead":
            python, java = one.driver_bytes / 1e6, one.java_bytes / 1e6
            yield f"| {one.runs:,} runs | {python:,.0f} MB | {java:,.0f} MB | {one.table_s / one.runs * 1e6:,.0f} µs |"
    costs = overheads(figures)
    yield ""
    yield (
        f"Per run, Spark adds {_time(costs.run_s)} of CPU time ({_sizes(figures)} runs without simulation). The "
        f"tables of a batch take {_time(costs.batch_s)}, and {_time(costs.written_run_s)} per run."
    )
    yield ""
    yield "| computed from these figures | " + " | ".join(f"{cores:,} cores" for cores in CORES) + " |"
    yield "|---|" + "---|" * len(CORES)
    for workload in workloads(_least(figures, "process"), _least(figures, "large")):
        cells = (execute(workload.batches, workload.run_s, cores, costs) for cores in CORES)
        yield f"| {workload.title} | " + " | ".join(map(_cell, cells)) + " |"


def _sizes(figures: Figures) -> str:
    sizes = sorted(one.runs for name, one in figures if name == "overhead")
    return f"{sizes[0]:,} against {sizes[-1]:,}"


def _least(figures: Figures, name: str) -> float:
    return min(one.cpu_s / one.runs for other, one in figures if other == name)


def _cell(execution: ComputedExecution) -> str:
    return f"{_time(execution.elapsed_s)} ({execution.busy:.0%} busy)"


def _time(seconds: float) -> str:
    for unit, size in (("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= 2 * size or unit == "ms":
            return f"{seconds / size:,.1f} {unit}"
    raise AssertionError
