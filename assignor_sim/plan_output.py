"""What `plan` says of its question, and the directory that its answers go to."""

from __future__ import annotations

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
from assignors.replicas.state import NOBODY
from reports.plans.row import PlanRow, records
from simulator.results import check_free, write_results

_KIND = "plan"


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
        replace(answer.row, folder=str(out / _folder(answer, found))) if answer.files else answer.row
        for answer in found
    ]


def check_out(out: Path | None) -> None:
    """See, before the work begins, that nothing else is where files are to go.

    Raises:
        ResultsError: something is.
    """
    if out is not None:
        check_free(out, _KIND)


def write(out: Path, found: Sequence[Answer], rows: Sequence[PlanRow], told: Mapping[str, Any]) -> None:
    """Write the files of all answers at once, and a manifest that says how they came about.

    Raises:
        ResultsError: they cannot be written.
    """
    files = {
        str(Path(_folder(answer, found)) / name): content for answer in found for name, content in answer.files.items()
    }
    manifest = {
        "kind": _KIND,
        **told,
        "plans": records(rows),
        "command": shlex.join(["assignor-sim", *sys.argv[1:]]),
        "versions": {package: version(package) for package in ("assignor-sim", "numpy", "ortools")},
    }
    write_results(out, {}, manifest, files)


def _folder(answer: Answer, found: Sequence[Answer]) -> str:
    """A folder of the strategy's name, unless it is the only one."""
    return re.sub(r"[^\w.-]", "_", answer.row.strategy) if len(found) > 1 else ""


def _in_words(wishes: Wishes, asked: Question) -> Iterator[str]:
    if wishes.remove:
        yield f"without broker{'s' if len(wishes.remove) > 1 else ''} {', '.join(map(str, wishes.remove))}"
    if wishes.add:
        yield f"with broker{'s' if len(wishes.add) > 1 else ''} {', '.join(wishes.add)}"
    if wishes.replication_factor is not None:
        yield f"replication factor {wishes.replication_factor}"
    if asked.topics is not None:
        yield f"topic{'s' if len(asked.topics) > 1 else ''} {', '.join(asked.topics)} only"
    if not wishes.rack_aware:
        yield "racks left out"
