"""Write current command output into the README: `python -m tools.readme`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
HOW_TO = ROOT / "docs" / "how-to" / "write-an-assignor.md"

PLAN = (
    *("plan", "cross_zone_bill", "--add-broker", "9:az1", "--add-broker", "10:az2", "--add-broker", "11:az3"),
    *("--strategy", "kafka_generate", "--strategy", "kafka_assigner", "--strategy", "exact_flow"),
)
"""The `plan` command of the README."""

MISTAKES = (
    ("rack.aware.assignment.strategy: min_traffic", "rack.aware.assignment.strategy: cheapest"),
    ("clients: app, down: 30s", "clients: apps, down: 30s"),
    ("replication_factor: 2", "replication_factor: 9"),
    ("threads: 4, starts", "threads: 4, start"),
)
"""Replacements in the README's scenario that cause the errors it shows."""


def assignor_sim(*arguments: str, folder: Path) -> str:
    """Return the output of a command at a width of 120 columns."""
    completed = subprocess.run(
        [sys.executable, "-m", "assignor_sim", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    printed = (completed.stdout + completed.stderr).replace(f"{ROOT}{os.sep}", "")
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


def block(text: str, mark: str, content: str, language: str = "") -> str:
    """Return the text with new content in the fenced block that follows the mark."""
    pattern = re.compile(rf"(<!-- {re.escape(mark)}[^\n]*-->\n```{language}\n)(.*?)(```\n)", re.DOTALL)
    return pattern.sub(lambda match: match[1] + content + "\n" + match[3], text, count=1)


def scenario(text: str) -> str:
    """Return the README's scenario."""
    return text.split("```yaml\n")[1].split("```")[0]


def refreshed(text: str) -> str:
    """Return the README with current output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        invalid = scenario(text)
        for right, wrong in MISTAKES:
            invalid = invalid.replace(right, wrong)
        (folder / "first.yaml").write_text(invalid, encoding="utf-8")
        mistakes = "$ assignor-sim validate first.yaml\n" + assignor_sim("validate", "first.yaml", folder=folder)
        text = block(text, "output", assignor_sim("run", "order_processing", folder=folder))
        text = block(text, "plan", "$ assignor-sim " + " ".join(PLAN) + "\n" + assignor_sim(*PLAN, folder=folder))
    text = block(text, "mistakes", mistakes)
    code = HOW_TO.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0].strip()
    return block(text, "assignor", code, "python")


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
