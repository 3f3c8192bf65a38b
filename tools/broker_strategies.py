"""Write current command output into docs/explanation/broker-strategies.md: `python -m tools.broker_strategies`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tools.readme import ROOT, assignor_sim

PAGE = ROOT / "docs" / "explanation" / "broker-strategies.md"
BLOCK = re.compile(r"<!-- (?P<command>[^\n]*) -->\n```\n(?P<output>.*?)```\n", re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the commands whose output the page shows."""
    return [match["command"] for match in BLOCK.finditer(text)]


def refreshed(text: str) -> str:
    """Return the page with current output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assignor_sim("generate", "cluster", "--out", "forty", folder=folder)

        def current_block(match: re.Match[str]) -> str:
            command = match["command"]
            output = assignor_sim(*command.split(), folder=folder)
            return f"<!-- {command} -->\n```\n$ assignor-sim {command}\n{output}\n```\n"

        return BLOCK.sub(current_block, text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
