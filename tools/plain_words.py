"""Check docs, help texts, docstrings and comments for phrases that a reader would stop at.

Run `python -m tools.plain_words [PATH …]`; without paths, it checks all Markdown pages and the shipped packages.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("assignor_sim", "assignors", "pipeline", "reports", "scenarios", "simulator", "tools")

SUFFIXES = (".py", ".md", ".js", ".j2", ".yaml", ".toml")

PHRASES: dict[str, str] = {
    r"nobody|somebody|whoever": "name who",
    r"told|tells|tell": "reports, shows, says (a log), or the name of the value",
    r"stands|stood": "is",
    r"comes? to|came to": "is, becomes, reaches, totals",
    r"comes? to rest|at rest": "settles, is stable",
    r"hangs? on": "depends on",
    r"of these|of those": "name them",
    r"is there(?! (?:a|an|any|no)\b)": "exists, is present",
    r"as far as": "if, where, unless",
    r"if you say nothing|where nothing is said": "by default",
    r"(?:is|are) not known here": "unknown, unsupported",
    r"surely": "statistically significant, certainly",
    r"(?:at )?(?:most|least|best|worst) of all": "maximum, minimum, highest, lowest",
    r"go(?:es)? by": "follows, uses",
    r"is to be (?:seen|had|found)|be had": "is visible, available",
    r"what [^.,;:]{1,60} is what": "name the thing",
    r"one's own": "custom, your own",
    r"each is|each has|each gets|the others'|every one": "name the noun after each",
    r"front door|the house|the rooms?|the floor|the weather|twin|contestants?": "module, package, assignor",
    r"foretells?|foresight": "predicts",
    r"programmes?": "program (integer program)",
    r"which nothing": "say what is missing",
    r"meanwhile|whilst|thereof|therein|hitherto|henceforth|to and fro": "plain words",
    r"it's own": "its own",
}
BRITISH = (
    r"\w*(?:colour|behaviour|neighbour|favour|honour|labour)\w*|centres?|centred|grey|catalogues?|"
    r"(?:label|model|cancel|travel|total|level|signal)l(?:ed|ing)|"
    r"\w*(?:organ|optim|serial|recogn|minim|maxim|normal|summar|initial|synchron|random|character|vector|local|"
    r"equal|categor|standard|visual|author|util|stabil|penal|prior|parallel)is(?:e|es|ed|ing|ation)|analyse[sd]?|artefacts?"
)
_ALTERNATIVES = [*(f"(?P<p{at}>{phrase})" for at, phrase in enumerate(PHRASES)), f"(?P<british>{BRITISH})"]
_FOUND = re.compile(rf"(?<![\w`])(?:{'|'.join(_ALTERNATIVES)})(?![\w`])".replace(" ", r"\s+"), re.IGNORECASE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)|https?://\S+", re.DOTALL)

ALLOWED: frozenset[tuple[str, str]] = frozenset(
    {
        ("assignors/tasks/optimal.py", "minimises"),
        ("assignors/tasks/rack_aware_variant.py", "minimises"),
        ("scenarios/library/nobody_is_caught_up.yaml", "nobody"),
    }
)
"""Allowed phrases, as (path, phrase in lower case): names that users have in their files, and quoted output."""


class Finding(NamedTuple):
    """A phrase to replace, and what to write instead."""

    path: str
    line: int
    phrase: str
    instead: str


def findings_in_text(path: str, text: str, first_line: int = 1) -> Iterator[Finding]:
    """Yield the phrases in prose; code spans, code blocks and links are left out."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for match in _FOUND.finditer(prose):
        phrase = " ".join(match[0].lower().split())
        if (path, phrase) in ALLOWED:
            continue
        group = str(match.lastgroup)
        instead = "American spelling" if group == "british" else list(PHRASES.values())[int(group[1:])]
        yield Finding(path, first_line + prose.count("\n", 0, match.start()), phrase, instead)


def prose_of_module(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, comments and texts with several words of a Python module, with their first lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") >= 2:
            yield node.lineno, node.value


def check(paths: Iterable[str]) -> list[Finding]:
    """Check Markdown pages and Python modules; return what was found, by path and line."""
    found: list[Finding] = []
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        parts = prose_of_module(text) if path.endswith(".py") else [(1, text)]
        for line, part in parts:
            found.extend(findings_in_text(path, part, line))
    return sorted(found)


def checked_paths(under: Sequence[str] = ()) -> list[str]:
    """List the tracked files that are checked, all or those under some paths."""
    under = under or ("README.md", "CONTRIBUTING.md", "docs", *PACKAGES)
    listed = subprocess.run(["git", "ls-files", "--", *under], check=True, capture_output=True, text=True).stdout
    return [path for path in listed.splitlines() if path.endswith(SUFFIXES) and path != "tools/plain_words.py"]


def main(under: Sequence[str]) -> int:
    """Print what was found; return 1 where there is any."""
    found = check(checked_paths(under))
    for path, line, phrase, instead in found:
        print(f"{path}:{line}: {phrase!r}: {instead}")
    print(f"{len(found)} phrases to replace" if found else "Plain words throughout", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
