"""Kill commands at random moments, count them in a file, and write the table of the counts.

`nice python -m tests.faults try out/kills.jsonl --moments 30` kills each command at 30 further moments by each signal,
and appends a line for each moment; `--command run` restricts it. Several calls add up. Set JDK_JAVA_OPTIONS to start
Java faster, as with `-XX:SharedArchiveFile`.

`python -m tests.faults page out/*.jsonl` writes the table into `docs/development/hostile-input.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.faults.kills import COMMANDS, ROOT, Moment, try_moments

PAGE = ROOT / "docs/development/hostile-input.md"
SIGNALS = (signal.SIGKILL, signal.SIGINT)
_HEADER = "| command | SIGKILL | SIGINT | at a change of a file | while it runs | called again | failed |"
_TABLE = re.compile(r"\| command \|.*\n(\|.*\n)+")


def main() -> None:
    """Run a subcommand."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored in a command that a shell starts with `&`.
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    commands = parser.add_subparsers(dest="task", required=True)
    trying = commands.add_parser("try", help="Kill commands, and append a line for each moment to a file.")
    trying.add_argument("counts", type=Path)
    names = [command.name for command in COMMANDS]
    trying.add_argument("--command", action="append", choices=names, help="Only this command. Repeatable.")
    trying.add_argument("--moments", type=int, required=True, help="Number of moments per command and signal.")
    trying.add_argument("--until", type=int, default=sys.maxsize, help="Try no moment after this time (Unix seconds).")
    page = commands.add_parser("page", help="Write the table of the counts.")
    page.add_argument("counts", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.task == "page":
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_TABLE.sub(lambda _: counts_table(read(arguments.counts)), text), encoding="utf-8")
        return
    for command in (command for command in COMMANDS if command.name in (arguments.command or names)):
        tried = [moment for moment in read([arguments.counts]) if moment["command"] == command.name]
        firsts = {number: sum(moment["signal"] == number.name for moment in tried) for number in SIGNALS}
        numbers = {number: range(first, first + arguments.moments) for number, first in firsts.items()}
        for moment in try_moments(command, numbers):
            _append(arguments.counts, moment)
            if time.time() > arguments.until:
                return


def _append(file: Path, moment: Moment) -> None:
    with file.open("a", encoding="utf-8") as lines:
        print(json.dumps(asdict(moment)), file=lines)


def read(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the moments in files; a file that does not exist has none."""
    texts = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def counts_table(moments: Sequence[Mapping[str, Any]]) -> str:
    """Return the counts of each command, and their sums, as a Markdown table.

    Moments at which the command had ended already are not counted.
    """
    lines = [_HEADER, "|---|" + "---:|" * 6]
    killed = [moment for moment in moments if not moment["ended"]]
    by_name = {command.name: [moment for moment in killed if moment["command"] == command.name] for command in COMMANDS}
    lines += [_row(f"`{name}`", moments) for name, moments in by_name.items()]
    lines.append(_row("**all**", killed))
    return "\n".join(lines) + "\n"


def _row(title: str, moments: Sequence[Mapping[str, Any]]) -> str:
    counts = (
        *(sum(moment["signal"] == number.name for moment in moments) for number in SIGNALS),
        sum(moment["at_change"] for moment in moments),
        sum(not moment["at_change"] for moment in moments),
        sum(moment["resumed"] for moment in moments),
        sum(bool(moment["wrong"]) for moment in moments),
    )
    return f"| {title} | " + " | ".join(f"{count:,}" for count in counts) + " |"


if __name__ == "__main__":
    main()
