"""Compare the classes that assign tasks between two releases: `javap` without what only a compiler decides."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assignors.jvm.loading import Dependency
from tools.java import ClusterError, find_executable, find_jars

LIMIT_S: Final = 300


@dataclass(frozen=True, slots=True)
class Part:
    """The classes of clients or of brokers.

    Attributes:
        jars: names of the jars, without the version.
        packages: packages, as folders in the jars.
    """

    name: str
    jars: tuple[str, ...]
    packages: tuple[str, ...]


CLIENTS: Final = Part(
    "clients",
    ("kafka-streams",),
    ("org/apache/kafka/streams/processor/assignment/", "org/apache/kafka/streams/processor/internals/assignment/"),
)
BROKERS: Final = Part(
    "brokers",
    ("kafka-group-coordinator", "kafka-group-coordinator-api"),
    (
        "org/apache/kafka/coordinator/group/streams/assignor/",
        "org/apache/kafka/coordinator/group/api/streams/assignor/",
    ),
)

Members = Mapping[str, Sequence[str]]
"""Normalized instructions by declaration, of one class."""

_MEMBER = re.compile(r"  \S.*;")
_INSTRUCTION = re.compile(r"\s+(\d+): (\S+)\s*(.*)")
_SWITCH_CASE = re.compile(r"\s+(-?\d+|default): (\d+)")
_EXCEPTION = re.compile(r"\s+(\d+)\s+(\d+)\s+(\d+)\s+(Class \S+|any)")
_JUMPS = re.compile(r"(if\w*|goto(_w)?|jsr(_w)?)")
_CONSTANT = re.compile(r"#\d+(,\s*\d+)?\s*(// )?")
_PACKAGE = re.compile(r"\b(?:\w+[./])+(?=[A-Z])")
_LAMBDA = re.compile(r"(lambda\$\w+?|access)\$\d+")
_BOOTSTRAP = re.compile(r"InvokeDynamic #\d+:")


def run_classes(older: str, newer: str) -> int:
    """Print which classes of the assignment packages differ between two releases, and how.

    Returns 0, or 2 if neither clients nor brokers have both releases.
    """
    failures = 0
    for part in (CLIENTS, BROKERS):
        try:
            old, new = (read_classes(part, release) for release in (older, newer))
        except ClusterError as error:
            failures += 1
            print(f"{part.name}: not compared: {str(error).splitlines()[0]}")
            continue
        print("\n".join(describe(part.name, old, new)))
    return 2 if failures == 2 else 0


def read_classes(part: Part, release: str) -> dict[str, Members]:
    """Return the normalized classes of a release by name.

    Raises ClusterError if Maven has no such release, or `javap` fails.
    """
    entries = find_jars([Dependency(f"org.apache.kafka:{jar}:{release}") for jar in part.jars])
    jars = [Path(entry) for entry in entries if Path(entry).name in {f"{jar}-{release}.jar" for jar in part.jars}]
    names = [name for jar in jars for name in _class_names(jar, part.packages)]
    command = [
        find_executable("javap", "a JDK, version 17 or newer"),
        "-p",
        "-c",
        "-cp",
        os.pathsep.join(map(str, jars)),
    ]
    done = subprocess.run(
        [*command, *names], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=LIMIT_S
    )
    if done.returncode != 0:
        raise ClusterError(f"javap of Kafka {release}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    parsed = list(split_classes(done.stdout))
    if len(parsed) != len(names):
        raise ClusterError(f"javap of Kafka {release}: {len(names)} classes, but {len(parsed)} in its output")
    return {name: parse_members(lines) for name, lines in zip(names, parsed, strict=True)}


def _class_names(jar: Path, packages: Sequence[str]) -> Iterator[str]:
    with zipfile.ZipFile(jar) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".class") and name.rpartition("/")[0] + "/" in packages and "package-info" not in name:
                yield name.removesuffix(".class").replace("/", ".")


def split_classes(output: str) -> Iterator[list[str]]:
    """Yield the lines of each class in the output of `javap`, from its declaration to its closing brace."""
    lines: list[str] = []
    for line in output.splitlines():
        if line.startswith("Compiled from"):
            continue
        lines.append(line)
        if line == "}":
            yield lines
            lines = []


def parse_members(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the normalized instructions of a class by declaration.

    Names lose their packages, numbers of lambdas and indices of constants; jumps get the rank of their target. `lines`:
    the lines of the class in the output of `javap -p -c`.
    """
    members: dict[str, list[str]] = {f"class {_normalized(lines[0].removesuffix('{'))}": []}
    body: list[str] = []
    name = ""
    for line in [*lines[1:], "  end;"]:
        if _MEMBER.fullmatch(line):
            if name:
                _add_member(members, name, _instructions(body))
            name, body = _normalized(line.strip()), []
        else:
            body.append(line)
    return dict(sorted(members.items()))


def _add_member(members: dict[str, list[str]], name: str, instructions: list[str]) -> None:
    """Add a member; lambdas that have the same name without their number are one member."""
    members[name] = members.get(name, []) + instructions


def _instructions(lines: Iterable[str]) -> list[str]:
    """Return instructions without offsets, each jump with the rank of its target."""
    kept: list[tuple[int | None, str, tuple[int, ...]]] = []
    for line in lines:
        if found := _EXCEPTION.fullmatch(line):
            start, end, handler, kind = found.groups()
            kept.append((None, f"catch {_normalized(kind)}", (int(start), int(end), int(handler))))
        elif found := _SWITCH_CASE.fullmatch(line):
            kept.append((None, f"case {found[1]}", (int(found[2]),)))
        elif found := _INSTRUCTION.fullmatch(line):
            offset, code, operand = int(found[1]), found[2], found[3]
            if _JUMPS.fullmatch(code):
                kept.append((offset, code, (int(operand),)))
            else:
                kept.append((offset, f"{code} {_normalized(operand)}".strip(), ()))
    targets = sorted({target for _, _, of_line in kept for target in of_line})
    label = {target: f"L{rank}" for rank, target in enumerate(targets, start=1)}
    result = []
    for position, text, of_line in kept:
        if position in label:
            result.append(f"{label[position]}:")
        result.append(" ".join([text, *(label[target] for target in of_line)]))
    return result


def _normalized(text: str) -> str:
    text = _BOOTSTRAP.sub("InvokeDynamic ", _CONSTANT.sub("", text))
    return " ".join(_LAMBDA.sub(r"\1", _PACKAGE.sub("", text)).split())


def describe(title: str, old: Mapping[str, Members], new: Mapping[str, Members]) -> Iterator[str]:
    """Yield the added, removed, moved and changed classes, with the changed instructions.

    A class is moved if a class of the same simple name exists in another package.
    """
    moves = dict(_moves(old, new))
    pairs = [(name, moves.get(name, name)) for name in old if moves.get(name, name) in new]
    changed = [(before, after) for before, after in pairs if old[before] != new[after]]
    added = [name for name in new if name not in old and name not in moves.values()]
    removed = [name for name in old if name not in new and name not in moves]
    yield f"{title}: {len(pairs) - len(changed)} of {len(pairs)} classes are the same"
    yield from (f"  added: {name}" for name in added)
    yield from (f"  removed: {name}" for name in removed)
    yield from (f"  moved: {before} to {after}" for before, after in moves.items())
    for before, after in changed:
        yield f"  changed: {after}"
        for member in sorted({*old[before], *new[after]}):
            yield from _member_changes(member, old[before].get(member), new[after].get(member))


def _moves(old: Mapping[str, Members], new: Mapping[str, Members]) -> Iterator[tuple[str, str]]:
    arrived = {name.rpartition(".")[2]: name for name in new if name not in old}
    for name in old:
        simple = name.rpartition(".")[2]
        if name not in new and simple in arrived:
            yield name, arrived[simple]


def _member_changes(member: str, old: Sequence[str] | None, new: Sequence[str] | None) -> Iterator[str]:
    if old is None:
        yield f"    added: {member}"
    elif new is None:
        yield f"    removed: {member}"
    elif old != new:
        yield f"    changed: {member}"
        differences = difflib.unified_diff(old, new, n=1, lineterm="")
        yield from (f"      {line}" for line in differences if not line.startswith(("---", "+++", "@@")))
