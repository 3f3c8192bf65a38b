"""Make AssignorBench: `python -m tools.benchmark COMMAND`.

instances -o DIR   write every instance as DIR/FAMILY/NAME.json, also the large ones (up to 90 MB each)
references         optima, final assignments of all entries, and Kafka's answers in Java (needs Java and Maven)
runs               simulate all entries in all scenarios
pages              write the pages and figures of docs/benchmark from the results
all                all except instances: the whole leaderboard
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from scenarios.problems import parse_problem
from scenarios.suite.benchmark import benchmark_cases
from tools.benchmark import instances, pages, references, runs, store
from tools.benchmark.optima import Optimum, find_optimum


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("instances", "references", "runs", "pages", "all"))
    parser.add_argument("-o", "--output", type=Path, help="folder of the instances")
    parser.add_argument("--workers", type=int, help="number of processes; by default one for each CPU")
    arguments = parser.parse_args()
    if arguments.command == "instances":
        if arguments.output is None:
            parser.error("instances: requires -o DIR")
        write_instances(arguments.output)
    store.FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.command in ("references", "all"):
        write_references()
    if arguments.command in ("runs", "all"):
        rows = runs.measure(benchmark_cases(), workers=arguments.workers, on_progress=_progress)
        (store.FOLDER / store.RUNS).write_text(runs.csv_text(rows), encoding="utf-8")
        store.write_versions()
    if arguments.command in ("pages", "all"):
        for path, content in pages.files().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def write_instances(folder: Path) -> None:
    """Write every instance as a file of its own, which has the digest of the manifest."""
    for problem in (*instances.stored_instances(), *instances.generated_instances()):
        path = folder / f"{problem['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(instances.json_line(problem).rstrip(b"\n"))
        _progress(str(path))


def write_references() -> None:
    """Write the stored instances, their optima, the answers of Kafka, and the final assignments of all entries."""
    problems = list(instances.stored_instances())
    optima = store.optima_of(problems)
    answers = list(references.reference_answers(problems, on_progress=_progress))
    expected = {line["id"]: line["answer"] for line in answers if line["entry"] == instances.ASSIGNOR}
    store.write_lines(
        store.INSTANCES, ({"problem": problem, "expected": expected[problem["id"]]} for problem in problems)
    )
    store.write_lines(store.ANSWERS, answers)
    solved = store.solutions(problems, optima, _progress)
    (store.FOLDER / store.SOLUTIONS).write_text(store.solutions_text(solved), encoding="utf-8")
    manifest = [store.manifest_row(one, optima[one["id"]], stored=True) for one in problems]
    manifest += [store.manifest_row(*large, stored=False) for large in _large_optima()]
    text = store.table_text(manifest, store.MANIFEST_FIELDS)
    (store.FOLDER / store.MANIFEST).write_text(text, encoding="utf-8")


def _large_optima() -> Iterator[tuple[store.Problem, Optimum | None]]:
    for problem in instances.generated_instances():
        _progress(problem["id"])
        yield problem, find_optimum(parse_problem(problem))


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
