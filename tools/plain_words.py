"""Check docs, help texts, docstrings, comments and names of functions for unclear phrases.

Run `python -m tools.plain_words [PATH …]`; without paths, it checks all Markdown pages, the packages and the tests. In
tests, texts are data and are not checked, but local variables are.
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

OWN_TEST = "tests/tools/test_plain_words.py"
"""Contains phrases as data."""

SUFFIXES = (".py", ".md", ".js", ".j2", ".yaml", ".toml", ".java", ".properties", ".sh", ".xml")

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

_CODE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)|https?://\S+", re.DOTALL)

NAME_PHRASES: dict[str, str] = {
    **PHRASES,
    r"test (?:what|who|whom|of)": "begin with the subject",
    r"of (?:its|their|his) own": "separate, custom",
    r"worked out": "computed",
    r"passed over": "skipped, ignored",
    r"left alone": "unchanged",
    r"lively": "name what it builds",
}
"""Phrases in names of functions, whose words are separated by underscores."""

LOCALS: dict[str, str] = {
    "told": "the noun of the value, such as message or output",
    "found": "the noun of the value, such as matches or error",
    "each": "the noun of the item",
    "one": "first, single, or the noun of the value",
}
"""Names that do not say what a variable of a test holds."""

ALLOWED: frozenset[tuple[str, str]] = frozenset(
    {
        ("scenarios/library/nobody_is_caught_up.yaml", "nobody"),
    }
)
"""Allowed phrases, as (path, phrase in lower case): names that users have in their files, and quoted output."""


def _compile(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern whose group `p0` is the first phrase, and so on; `british` is British spelling."""
    alternatives = [*(f"(?P<p{at}>{phrase})" for at, phrase in enumerate(phrases)), f"(?P<british>{BRITISH})"]
    return re.compile(rf"(?<![\w`])(?:{'|'.join(alternatives)})(?![\w`])".replace(" ", r"\s+"), re.IGNORECASE)


_PROSE_PATTERN = _compile(PHRASES)
_NAME_PATTERN = _compile(NAME_PHRASES)


class Finding(NamedTuple):
    """A phrase or name to replace, and what to write instead."""

    path: str
    line: int
    phrase: str
    instead: str


def findings_in_text(path: str, text: str, first_line: int = 1) -> Iterator[Finding]:
    """Yield the phrases in prose; code spans, code blocks and links are left out."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for match in _PROSE_PATTERN.finditer(prose):
        phrase = " ".join(match[0].lower().split())
        if (path, phrase) not in ALLOWED:
            yield Finding(path, first_line + prose.count("\n", 0, match.start()), phrase, _advice(match, PHRASES))


def findings_in_module(path: str, source: str) -> Iterator[Finding]:
    """Yield the findings in a Python module, in any order: those in its prose, and those in its names.

    The prose is the docstrings, the comments and, except in tests, all texts with several words.
    """
    nodes = list(ast.walk(ast.parse(source)))
    is_test = _is_test(path)
    for line, text in (*_comments(source), *_texts(nodes, only_docstrings=is_test)):
        yield from findings_in_text(path, text, line)
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            match = _NAME_PATTERN.search(node.name.replace("_", " "))
            if match and (path, node.name) not in ALLOWED:
                yield Finding(path, node.lineno, node.name, f"{match[0]!r}: {_advice(match, NAME_PHRASES)}")
        elif is_test and (name := _bound_name(node)) in LOCALS:
            yield Finding(path, getattr(node, "lineno", 1), name, LOCALS[name])


def check(paths: Iterable[str]) -> list[Finding]:
    """Check Markdown pages and Python modules; return the findings by path and line."""
    findings: list[Finding] = []
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        findings.extend((findings_in_module if path.endswith(".py") else findings_in_text)(path, text))
    return sorted(findings)


def checked_paths(under: Sequence[str] = ()) -> list[str]:
    """List the tracked files that are checked, all or those under some paths."""
    under = under or ("README.md", "CONTRIBUTING.md", "changes", "docs", "tests", *PACKAGES)
    listed = subprocess.run(["git", "ls-files", "--", *under], check=True, capture_output=True, text=True).stdout
    return [
        path
        for path in listed.splitlines()
        if path.endswith(".py" if _is_test(path) else SUFFIXES) and path not in ("tools/plain_words.py", OWN_TEST)
    ]


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module with their lines."""
    if "#" not in source:
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _texts(nodes: Sequence[ast.AST], *, only_docstrings: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts with several words of a module with their first lines, or only its docstrings."""
    if only_docstrings:
        nodes = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") >= 2:
            yield node.lineno, node.value


def _is_test(path: str) -> bool:
    return path.startswith("tests/")


def _bound_name(node: ast.AST) -> str:
    """Return the name that a node binds as a variable or parameter; empty if it binds none."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else ""


def _advice(match: re.Match[str], phrases: dict[str, str]) -> str:
    group = str(match.lastgroup)
    return "American spelling" if group == "british" else list(phrases.values())[int(group[1:])]


def main(under: Sequence[str]) -> int:
    """Print the findings; return 1 if there are any."""
    findings = check(checked_paths(under))
    for path, line, phrase, instead in findings:
        print(f"{path}:{line}: {phrase!r}: {instead}")
    print(f"{len(findings)} phrases to replace" if findings else "Plain words throughout", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
