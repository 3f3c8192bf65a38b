"""Run every suite at full count, step by step, and write what passed to docs/reference/certification.md.

Usage: python -m tools.certify [--only STEP]… [--seed N]

The last results of each step are in docs/reference/certification.json, with the commit. A step that passed is not run
again until a file that it may read differs, so the same command continues an interrupted certification, and --only
repeats the steps that a change concerns. A step that fails is run once more, and the page has both results.

A comparison with a released Kafka reads the modules that it imports, the assignors, which it loads by name, and
`COMPARED`; other steps may read every file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import grimp

from assignor_sim.text_files import write_text
from assignors.kafka_releases import BROKERS, CLIENTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "certification.md"
STATE = PAGE.with_suffix(".json")
LOGS = ROOT / "out" / "certify"
OWN_FILES = (":!docs/reference/certification.*",)
DOCUMENTS = (":!docs", ":!changes")
"""Files, as exceptions for git, that no step reads, and that only `READS_DOCUMENTS` read."""

READS_DOCUMENTS = ("lint", "docs-build", "test", "test-answers")

COMPARISONS = {
    "parity": "tools.kafka_oracle",
    "parity-brokers": "tools.kafka_group_oracle",
    "parity-consumers": "tools.kafka_consumer_oracle",
    "parity-groups": "tests.group_histories",
    "kafka-tests": "tests.kafka_tests",
}
"""Packages of the comparisons with a released Kafka, by target of make."""

COMPARED = (
    "assignors",
    ":!assignors/replicas",
    "bridge",
    "tools/java.py",
    "Makefile",
    "pyproject.toml",
    "requirements.lock",
)
"""Files that comparisons read beside modules that they import. None is about replicas of partitions."""

PACKAGES = ("assignor_sim", "assignors", "pipeline", "reports", "scenarios", "simulator", "tests", "tools")

PROBLEMS = 5_000
ATTEMPTS = 2

REAL_KAFKA = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/real_kafka/test_*.py"))
"""Files of tests that start a cluster. Every file is a step, with the machine to itself."""

STEPS: Mapping[str, Sequence[str]] = {
    "lint": ("lint",),
    "types": ("types",),
    "layers": ("layers",),
    "docs-build": ("docs-build",),
    "test": ("test",),
    "test-answers": ("test-answers", "SLOW=1"),
    "relations": ("test-answers", "SLOW=1", "IN=tests/relations tests/simulator/brokers", "RELATION_WORLDS=2000"),
    "contract": ("test-answers", "SLOW=1", "IN=tests/contract", "CONTRACT_WORLDS=2000"),
    "hostile": ("test-answers", "SLOW=1", "IN=tests/hostile", "HOSTILE_INPUTS=50"),
    "test-spark": ("test-spark", "SLOW=1"),
    "javascript": ("javascript",),
    "test-browser": ("test-browser", "SLOW=1"),
    "test-kafka": ("test-kafka", "SLOW=1", "ARGS=--deselect=tests/real_kafka"),
    **{f"kafka {Path(path).stem[5:]}": ("test-kafka", "SLOW=1", f"IN={path}") for path in REAL_KAFKA},
    **{f"parity {kafka}": ("parity", f"KAFKA={kafka}", f"PROBLEMS={PROBLEMS}") for kafka in CLIENTS},
    **{
        f"parity-brokers {kafka}": ("parity-brokers", f"BROKERS={kafka}", f"GROUPS={PROBLEMS // 4}")
        for kafka in BROKERS
    },
    **{
        f"parity-consumers {kafka}": ("parity-consumers", f"RELEASE={kafka}", f"PROBLEMS={PROBLEMS}")
        for kafka in CLIENTS
    },
    "parity-groups": ("parity-groups", "HISTORIES=10000"),
    "kafka-tests": ("kafka-tests",),
    "wheel-test": ("wheel-test",),
}
"""Arguments of make by name of the step. Four rounds of each group of a broker are compared."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a step.

    Attributes:
        commit: the commit, in 12 digits.
        started: when, in UTC, in ISO 8601.
        duration_s: seconds of wall-clock time.
        passed: whether make ended with 0.
        counts: what the tools printed about passed tests and compared problems.
    """

    step: str
    commit: str
    seed: int
    started: str
    duration_s: int
    passed: bool
    counts: str


def run_step(step: str, commit: str, seed: int, log: Path) -> Attempt:
    """Run a step, with its output in a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    target, *variables = STEPS[step]
    if target.startswith("parity"):
        variables.append(f"SEED={seed}")
    elif target in {"test", "test-answers"}:
        variables.append(f"ARGS=--hypothesis-seed={seed}")
    started, clock = datetime.now(UTC), time.monotonic()
    with log.open("w") as output:
        code = subprocess.run(
            ["make", target, *variables],
            cwd=ROOT,
            env={**os.environ, "HYPOTHESIS_PROFILE": "certify"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        ).returncode
    return Attempt(
        step,
        commit,
        seed,
        started.isoformat(timespec="seconds"),
        round(time.monotonic() - clock),
        code == 0,
        counts_of(log.read_text(errors="replace")),
    )


def counts_of(output: str) -> str:
    """Return the closing lines of pytest and of the comparisons, joined by `; `."""
    lines = re.findall(r"^(?:=* ?)?((?:\d+ failed, )?\d+ passed[^=\n]*?) in [\d.]+s.*$", output, re.M)
    lines += re.findall(r"^.*\b\d[\d,]* of \d[\d,]* .*$", output, re.M)
    return "; ".join(dict.fromkeys(line.strip() for line in lines))


def page_of(attempts: Sequence[Attempt], current: Collection[str]) -> str:
    """Return the page, in Markdown.

    `attempts`: the last ones of each step, in the order of the steps; `current`: steps that passed with the files of
    today.
    """
    rows = [
        f"| `make {' '.join(STEPS[a.step])}` | `{a.commit}` | {a.seed} | {a.started[:16].replace('T', ' ')} "
        f"| {a.duration_s:,} | {'passed' if a.passed else '**failed**'} | {a.counts} |"
        for a in attempts
    ]
    missing = [f"`{step}`" for step in STEPS if step not in current]
    left = f"\nTo be run for the present files: {', '.join(missing)}.\n" if missing else ""
    return f"""# Certification

`make certify` runs every test at full count: all releases, real clusters, killed processes, and {PROBLEMS:,} random
problems for each comparison with a released Kafka. A step is repeated when files that it may read differ from those of
its commit. A step that fails is run once more; both results are in the table.
{left}
| step | commit | seed | started (UTC) | seconds | result | counts |
|---|---|---:|---|---:|---|---|
{chr(10).join(rows)}
"""


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def head() -> str:
    """Return the commit of the checkout."""
    return _git("rev-parse", "--short=12", "HEAD").stdout.strip()


def is_current(commit: str, step: str) -> bool:
    """Return whether the files that a step may read are those of a commit."""
    package = COMPARISONS.get(STEPS[step][0])
    if package is not None:
        read = (*modules_read(package), *COMPARED)
    else:
        read = (".", *OWN_FILES, *(() if step in READS_DOCUMENTS else DOCUMENTS))
    return _git("diff", "--quiet", commit, "--", *read).returncode == 0


@cache
def modules_read(package: str) -> tuple[str, ...]:
    """Return the files of a package, and of the modules that it imports, directly or not.

    If none of them has changed since a commit, there were no others at that commit.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    own = {module for module in graph.modules if f"{module}.".startswith(f"{package}.")}
    imported = {name for module in own for name in graph.find_upstream_modules(module)}
    paths = sorted(name.replace(".", "/") for name in imported - own)
    return (package.replace(".", "/"), *(file for path in paths for file in (f"{path}.py", f"{path}/__init__.py")))


def stored_attempts() -> list[Attempt]:
    """Return the last results of all steps."""
    rows = [Attempt(**row) for row in json.loads(STATE.read_text(encoding="utf-8"))] if STATE.exists() else []
    return [row for row in rows if row.step in STEPS]


def passed_steps(attempts: Sequence[Attempt]) -> set[str]:
    """Return the steps that passed with the present files."""
    return {one.step for one in attempts if one.passed and is_current(one.commit, one.step)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps that have not passed with these files; return 1 if one fails twice."""
    parser = argparse.ArgumentParser(description="Run every suite at full count; continue after an interruption.")
    parser.add_argument("--only", action="append", choices=STEPS, help="Run this step only. Repeatable.")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(1_000_000), help="Random seed (default: a new one)."
    )
    options = parser.parse_args(arguments)
    commit = head()
    if not is_current(commit, "lint"):
        parser.error("files differ from the last commit; commit them first")
    failed = []
    for step in options.only or STEPS:
        if step in passed_steps(stored_attempts()):
            continue
        attempts: list[Attempt] = []
        while len(attempts) < ATTEMPTS and not any(attempt.passed for attempt in attempts):
            number = len(attempts) + 1
            log = LOGS / f"{step.replace(' ', '-')}-{number}.log"
            print(f"{step}: seed {options.seed}, attempt {number}; the log is {log.relative_to(ROOT)}", flush=True)
            attempts.append(attempt := run_step(step, commit, options.seed, log))
            print(f"{step}: {'passed' if attempt.passed else 'failed'} in {attempt.duration_s} s", flush=True)
        if not attempts[-1].passed:
            failed.append(step)
        # Another certification may have stored its results in the meantime.
        attempts = [*(one for one in stored_attempts() if one.step != step), *attempts]
        attempts.sort(key=lambda one: list(STEPS).index(one.step))
        write_text(STATE, json.dumps([asdict(one) for one in attempts], indent=1) + "\n")
        write_text(PAGE, page_of(attempts, passed_steps(attempts)))
    print(f"Wrote {PAGE.relative_to(ROOT)}." + (f" Failed: {', '.join(failed)}." if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
