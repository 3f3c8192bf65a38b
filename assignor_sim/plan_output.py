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

from assignor_sim.plan_answers import Answer
from assignor_sim.plan_request import Question, Wishes
from assignor_sim.plan_tables import plan_tables
from assignors.replicas.state import NOBODY
from reports.figures import rendered
from reports.page.page import page
from reports.plans.figures import plan_figures
from reports.plans.results import KIND, PlanResults
from reports.plans.row import PlanRow, records
from scenarios.errors import listing
from simulator.results import check_free, write_results

PAGE, FIGURES = "report.html", "figures"


def about(name: str, remarks: Sequence[str], asked: Question, wishes: Wishes) -> dict[str, Any]:
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
        "replicas": int((state.replicas != NOBODY).sum()),
    }
    counted = ", ".join(f"{count:,} {what if count != 1 else what[:-1]}" for what, count in counts.items())
    return {
        "title": f"{name}: {counted}",
        "asked": "; ".join(_in_words(wishes, asked)),
        "cluster": {"source": name, **counts},
        "request": {
            "brokers": sorted(state.ids[request.allowed(state)].tolist()),
            "replication_factor": request.replication_factor,
            "rack_aware": request.heeds_racks(state),
            "topics": None if asked.topics is None else list(asked.topics),
        },
        "remarks": [*remarks, *asked.remarks],
    }


def placed(found: Sequence[Answer], out: Path | None) -> list[PlanRow]:
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
        check_free(out, KIND)


def write(
    out: Path, asked: Question, found: Sequence[Answer], rows: Sequence[PlanRow], told: Mapping[str, Any]
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
        "kind": KIND,
        **told,
        "plans": records(rows),
        "command": shlex.join(["assignor-sim", *sys.argv[1:]]),
        "versions": {package: version(package) for package in ("assignor-sim", "numpy", "ortools")},
    }
    plans = {answer.row.strategy: answer.replicas for answer in found if answer.replicas is not None}
    batches = [row for answer in found for row in answer.batches]
    tables = plan_tables(asked.state, asked.request, plans, batches)
    results = PlanResults(tuple(rows), tables, manifest)
    files |= {f"{FIGURES}/{name}.png": rendered(draw(), "png") for name, draw in plan_figures(results).items()}
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


def _folders(found: Sequence[Answer]) -> list[str]:
    """A folder for each answer; an only one has none of its own."""
    return folder_names([answer.row.strategy for answer in found]) if len(found) > 1 else [""] * len(found)


def _in_words(wishes: Wishes, asked: Question) -> Iterator[str]:
    if wishes.remove:
        yield f"without broker{'s' if len(wishes.remove) > 1 else ''} {', '.join(map(str, wishes.remove))}"
    if wishes.add:
        yield f"with broker{'s' if len(wishes.add) > 1 else ''} {', '.join(wishes.add)}"
    if wishes.replication_factor is not None:
        yield f"replication factor {wishes.replication_factor}"
    if asked.topics is not None:
        named = listing("topics" if len(asked.topics) > 1 else "topic", asked.topics).replace(":", "", 1)
        yield f"{named} only"
    if not wishes.rack_aware:
        yield "racks left out"
