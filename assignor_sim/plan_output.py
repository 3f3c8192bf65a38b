"""What `plan` says of its question, and the directory that its answers go to."""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assignor_sim.plan_answers import StrategyResult
from assignor_sim.plan_request import PlanInput, PlanOptions
from assignor_sim.plan_tables import plan_tables
from assignors.replicas.state import NO_BROKER
from reports.analysis.plans.plan_row import PlanRow, records
from reports.analysis.plans.results import PLAN_KIND, PlanResults
from reports.render.figures.plan_figures import plan_figures
from reports.render.figures.run_figures import figure_bytes
from reports.render.page import page
from scenarios.language.errors import format_list
from simulator.results.result_directory import check_writable, write_results

PAGE, FIGURES = "report.html", "figures"


def describe_cluster(name: str, remarks: Sequence[str], asked: PlanInput, wishes: PlanOptions) -> dict[str, Any]:
    """The cluster and what was asked of it, JSON-able.

    Args:
        name: what the user calls the cluster.
        remarks: on what was read.
        asked: the question.
        wishes: what it came from.
    """
    state, request = asked.state, asked.request
    counts = {
        "brokers": len(state.brokers),
        "racks": len(state.racks),
        "topics": len(state.topics),
        "partitions": state.num_partitions,
        "replicas": int((state.replicas != NO_BROKER).sum()),
    }
    counted = ", ".join(f"{count:,} {what if count != 1 else what[:-1]}" for what, count in counts.items())
    return {
        "title": f"{name}: {counted}",
        "asked": "; ".join(_in_words(wishes, asked)),
        "cluster": {"source": name, **counts},
        "request": {
            "brokers": sorted(state.ids[request.is_allowed(state)].tolist()),
            "replication_factor": request.replication_factor,
            "rack_aware": request.is_rack_aware(state),
            "topics": None if asked.topics is None else list(asked.topics),
        },
        "remarks": [*remarks, *asked.remarks],
    }


def rows_with_folders(found: Sequence[StrategyResult], out: Path | None) -> list[PlanRow]:
    """The rows of answers, with where their files are."""
    if out is None:
        return [answer.row for answer in found]
    return [
        replace(answer.row, folder=str(out / folder)) if answer.files else answer.row
        for answer, folder in zip(found, _folders(found), strict=True)
    ]


def check_out(out: Path | None) -> None:
    """See, before the work begins, that nothing else is where files are to go.

    Raises:
        ResultsError: something is.
    """
    if out is not None:
        check_writable(out, PLAN_KIND)


def write_plan_folder(
    out: Path, asked: PlanInput, found: Sequence[StrategyResult], rows: Sequence[PlanRow], told: Mapping[str, Any]
) -> None:
    """Write the files of all answers at once, with tables, figures, a page and a manifest.

    Raises:
        ResultsError: they cannot be written.
    """
    files = {
        str(Path(folder) / name): content
        for answer, folder in zip(found, _folders(found), strict=True)
        for name, content in answer.files.items()
    }
    manifest = {
        "kind": PLAN_KIND,
        **told,
        "plans": records(rows),
        "command": shlex.join(["assignor-sim", *sys.argv[1:]]),
        "versions": {package: version(package) for package in ("assignor-sim", "numpy", "ortools")},
    }
    plans = {answer.row.strategy: answer.replicas for answer in found if answer.replicas is not None}
    batches = [row for answer in found for row in answer.batches]
    tables = plan_tables(asked.state, asked.request, plans, batches)
    results = PlanResults(tuple(rows), tables, manifest)
    files |= {f"{FIGURES}/{name}.png": figure_bytes(draw(), "png") for name, draw in plan_figures(results).items()}
    files[PAGE] = page(None, plans=[results]).encode()
    write_results(out, tables, manifest, files)


def folder_names(strategies: Sequence[str]) -> list[str]:
    """Return a folder name for each strategy; no two are the same, and none is that of the figures."""
    names: list[str] = []
    for strategy in strategies:
        name = re.sub(r"[^\w.-]", "_", strategy)
        taken = {*names, FIGURES}
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        names.append(next(free for free in itertools.chain([name], numbered) if free not in taken))
    return names


def _folders(found: Sequence[StrategyResult]) -> list[str]:
    """A folder for each answer; an only one has none of its own."""
    return folder_names([answer.row.strategy for answer in found]) if len(found) > 1 else [""] * len(found)


def _in_words(wishes: PlanOptions, asked: PlanInput) -> Iterator[str]:
    if wishes.remove:
        yield f"without broker{'s' if len(wishes.remove) > 1 else ''} {', '.join(map(str, wishes.remove))}"
    if wishes.add:
        yield f"with broker{'s' if len(wishes.add) > 1 else ''} {', '.join(wishes.add)}"
    if wishes.replication_factor is not None:
        yield f"replication factor {wishes.replication_factor}"
    if asked.topics is not None:
        named = format_list("topics" if len(asked.topics) > 1 else "topic", asked.topics).replace(":", "", 1)
        yield f"{named} only"
    if not wishes.rack_aware:
        yield "racks left out"
