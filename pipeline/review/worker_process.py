"""A process that runs cases of a review, one request at a time, until its pipe is closed."""

from __future__ import annotations

import traceback
from typing import Any

from assignors.containment.child import end_with_parent, take_pipe
from assignors.errors import AssignorError
from assignors.flow import flow_cache
from pipeline.review.case_runs import measure_run, run_assignor, run_case
from pipeline.review.reviewed import Reviewed
from pipeline.review.shrinking import shrink
from scenarios.suite.standard import SuiteCase


def main() -> None:
    """Answer requests until the pipe is closed."""
    requests, answers = take_pipe()
    end_with_parent(requests.fileno())
    with flow_cache():
        while True:
            try:
                request = requests.recv()
            except (EOFError, OSError):
                return
            try:
                answer: tuple[Any, ...] = ("result", _answer(*request))
            except AssignorError as error:
                answer = ("error", f"{type(error).__name__}: {error}")
            except Exception:
                answer = ("error", traceback.format_exc())
            answers.send(answer)


def _answer(kind: str, *arguments: Any) -> Any:
    match kind:
        case "cases":
            cases, base, head, metrics = arguments
            return [run_case(case, base, head, metrics) for case in cases]
        case "assignor":
            case, reviewed, metrics = arguments
            return _run_one(case, reviewed, metrics)
        case "measure":
            cases, reviewed, metrics = arguments
            return [measure_run(case, reviewed, metrics) for case in cases]
        case "shrink":
            return shrink(*arguments)
        case "call":
            function, *values = arguments
            return function(*values)
    raise ValueError(kind)


def _run_one(case: SuiteCase, reviewed: Reviewed, metrics: list[str]) -> Any:
    return run_assignor(case, reviewed, metrics)
