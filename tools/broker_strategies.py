"""Puts real output into docs/explanation/broker-strategies.md: `python -m tools.broker_strategies`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tools.readme import ROOT, assignor_sim

PAGE = ROOT / "docs" / "explanation" / "broker-strategies.md"
BLOCK = re.compile(r"<!-- (?P<command>[^\n]*) -->\n```\n(?P<output>.*?)```\n", re.DOTALL)


def commands(text: str) -> list[str]:
    """The commands of which the page holds the output."""
    return [found["command"] for found in BLOCK.finditer(text)]


def refreshed(text: str) -> str:
    """The page with today's output."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        assignor_sim("generate", "cluster", "--out", "forty", folder=here)

        def put(found: re.Match[str]) -> str:
            command = found["command"]
            output = assignor_sim(*command.split(), folder=here)
            return f"<!-- {command} -->\n```\n$ assignor-sim {command}\n{output}\n```\n"

        return BLOCK.sub(put, text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
