"""Run every suite at full count, step by step, and write what passed to docs/reference/certification.md.

Usage: python -m tools.certify [--only STEP]… [--seed N]

The state is in out/certify, one file per commit: a step that passed is not run again, so an interrupted certification
is continued by the same command. A step that fails is run once more, and the page has both results.
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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from assignors.kafka_releases import BROKERS, PATCHES

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "certification.md"
STATE = ROOT / "out" / "certify"
PROBLEMS = 5_000
ATTEMPTS = 2

_COUNTS = ("RELATION_WORLDS=2000", "CONTRACT_WORLDS=2000", "HOSTILE_INPUTS=50")
STEPS: Mapping[str, Sequence[str]] = {
    "lint": ("lint",),
    "types": ("types",),
    "layers": ("layers",),
    "docs-build": ("docs-build",),
    "test": ("test",),
    "test-answers": ("test-answers", "SLOW=1", *_COUNTS),
    "test-spark": ("test-spark", "SLOW=1"),
    "javascript": ("javascript",),
    "test-browser": ("test-browser", "SLOW=1"),
    "test-kafka": ("test-kafka", "SLOW=1"),
    **{f"parity {kafka}": ("parity", f"KAFKA={kafka}", f"PROBLEMS={PROBLEMS}") for kafka in PATCHES},
    **{
        f"parity-brokers {kafka}": ("parity-brokers", f"BROKERS={kafka}", f"GROUPS={PROBLEMS // 4}")
        for kafka in BROKERS
    },
    **{
        f"parity-consumers {kafka}": ("parity-consumers", f"RELEASE={kafka}", f"PROBLEMS={PROBLEMS}")
        for kafka in PATCHES
    },
    "wheel-test": ("wheel-test",),
}
"""Arguments of make by name of the step. Four rounds of each group of a broker are compared."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a step.

    Attributes:
        step: name of the step.
        seed: seed of random problems and worlds.
        started: when, in UTC, in ISO 8601.
        duration_s: seconds of wall-clock time.
        passed: whether make ended with 0.
        counts: what the tools printed about passed tests and compared problems.
    """

    step: str
    seed: int
    started: str
    duration_s: int
    passed: bool
    counts: str


def run_step(step: str, seed: int, log: Path) -> Attempt:
    """Run a step, with its output in a file."""
    target, *variables = STEPS[step]
    if target.startswith("parity"):
        variables.append(f"SEED={seed}")
    elif target in ("test", "test-answers"):
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


def page_of(commit: str, date: str, attempts: Sequence[Attempt]) -> str:
    """Return the page, in Markdown."""
    rows = [
        f"| `make {' '.join(STEPS[a.step])}` | {a.seed} | {a.started[:16].replace('T', ' ')} | {a.duration_s:,} "
        f"| {'passed' if a.passed else '**failed**'} | {a.counts} |"
        for a in attempts
    ]
    missing = [step for step in STEPS if not any(a.step == step and a.passed for a in attempts)]
    left = f"\nNot passed: {', '.join(f'`{step}`' for step in missing)}.\n" if missing else ""
    return f"""# Certification

`make certify` runs every test at full count: all releases, real clusters, killed processes, and {PROBLEMS:,} random
problems for each comparison with a released Kafka. It wrote this page for commit `{commit[:12]}` on {date}. A step
that fails is run once more; both results are in the table.
{left}
| step | seed | started (UTC) | seconds | result | counts |
|---|---:|---|---:|---|---|
{chr(10).join(rows)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps that have not passed for this commit; return 1 if one fails twice."""
    parser = argparse.ArgumentParser(description="Run every suite at full count; continue after an interruption.")
    parser.add_argument("--only", action="append", choices=STEPS, help="Run this step only. Repeatable.")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(1_000_000), help="Random seed (default: a new one)."
    )
    options = parser.parse_args(arguments)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    STATE.mkdir(parents=True, exist_ok=True)
    file = STATE / f"{commit}.json"
    attempts = [Attempt(**row) for row in json.loads(file.read_text())] if file.exists() else []
    for step in options.only or STEPS:
        for number in range(ATTEMPTS):
            if any(attempt.step == step and attempt.passed for attempt in attempts):
                break
            print(f"{step}: seed {options.seed}, attempt {number + 1}", flush=True)
            attempt = run_step(step, options.seed, STATE / f"{step.replace(' ', '-')}.log")
            print(f"{step}: {'passed' if attempt.passed else 'failed'} in {attempt.duration_s} s", flush=True)
            attempts.append(attempt)
            temporary = file.with_suffix(".tmp")
            temporary.write_text(json.dumps([asdict(one) for one in attempts], indent=1))
            temporary.replace(file)
    PAGE.write_text(page_of(commit, datetime.now(UTC).date().isoformat(), attempts))
    failed = [step for step in options.only or STEPS if not any(a.step == step and a.passed for a in attempts)]
    print(f"Wrote {PAGE.relative_to(ROOT)}." + (f" Failed: {', '.join(failed)}." if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
