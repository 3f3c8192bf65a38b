"""Write current command output into docs/explanation/broker-strategies.md: `python -m tools.broker_strategies`.

It takes up to an hour. The tests run some strategies only: tests/docs/test_broker_strategies_page.py. Tables are 120
columns wide.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "broker-strategies.md"
BLOCK = re.compile(
    r"(?P<shown>```sh\nassignor-sim (?P<command>plan [^\n]*)\n```\n\n```text\n)(?P<output>.*?)(?=```\n)", re.DOTALL
)


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
    return "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())


def refreshed(text: str) -> str:
    """Return the page with current output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assignor_sim("generate", "cluster", "--out", "forty", folder=folder)
        return BLOCK.sub(lambda match: match["shown"] + assignor_sim(*match["command"].split(), folder=folder), text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
