"""Changed scenarios and sweep files, loaded as every command loads them."""

from __future__ import annotations

import functools
import json
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import scenarios
from assignors.errors import AssignorError
from scenarios.language.errors import Mistake, ScenarioError, SweepError
from scenarios.language.yaml_reader import YamlReadError, read_yaml
from scenarios.load import loads
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.hostile.mutations import HOSTILE_TEXTS, changed_document, damaged_text, value_places

LIBRARY: Final = Path(scenarios.__file__).parent / "library"
TIME_LIMIT_S: Final = 20.0
_SLOW: Final = frozenset({"a_better_plan_a_worse_bill"})
"""Shipped scenarios that take long to load because they plan a reassignment; few of the inputs are made of them."""

_FIELD_VALUES: Final[tuple[Any, ...]] = (
    *("1 s", "0 s", "-5 min", "10:00", "1e400 s", "3 GB", "9e30 TB", "5 MB/s", "101 %", "az1", "az9", "orders", "all"),
    *("0..1e9", "1-3", "9" * 20, "high_availability", "os:system", "min_traffic", "streams", "../x", "4.4.0"),
    *(1, 2, 3, 64, 10**6, 10**9),
)
_YAML_SYNTAX: Final = (
    *("%YAML 9.9", "%YAML 1.1", "%YAML x", "%TAG ! !", "%TAG", "%", "---", "...", "--- |", "\ufeff", "\u2028", "\x85"),
    *("&a", "*a", "&a [*a]", "*missing", "<<: *a", "<<: {a: 1}", "<<: 3", "? [1, 2]", "? ", ": ", "- ", "-", "#", "@"),
    *("!!binary x", "!!python/object:os.system {}", "!!int x", "!!float 1_0", "!!null 3", "!<!>", "!a!b", "!!set {a}"),
    *('"\\UFFFFFFFF"', '"\\uD800"', '"\\x"', '"\\q"', "'", '"', "|", ">", "|99", "|+2", ">-", "{", "}", "[", "]", "`"),
    *("\x00", "\x1b[2J", "\x7f", "\u202e", "\ufffe", "0x", "0o9", "1_000", ".inf", ".nan", "~", "=", "2001-02-30"),
    *("[" * 60, "{a: " * 60, "a" * 2_000, "- - - -", "? a\n: b", "{a: 1, a: 2}", "1e99999", "\r", "\t", "!", "!!omap"),
)


@functools.cache
def texts(folder: Path = LIBRARY) -> tuple[tuple[str, str], ...]:
    """Return names and texts of the shipped scenarios, or of the sweep files in another folder."""
    return tuple((file.stem, file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml")))


@functools.cache
def _trees(folder: Path) -> tuple[str, ...]:
    return tuple(json.dumps(read_yaml(text).value) for _, text in texts(folder))


def scenario_failure(rng: random.Random) -> str | None:
    """Change a shipped scenario and load it; return what is wrong, or None."""
    name, text = rng.choice(texts())
    if name in _SLOW and rng.random() < 0.95:
        name, text = texts()[-1]
    text = changed_yaml(rng, text, LIBRARY)
    overrides = [_override(rng, text)] if rng.random() < 0.2 else []
    described = f"{name}, overrides {overrides}: {text}"
    started = time.perf_counter()
    try:
        loaded = loads(text, "input.yaml", overrides, LIBRARY)
    except ScenarioError as error:
        failure = unlocated(error.mistakes, "input.yaml", text)
    else:
        failure = next((f"not located: {text}" for text in loaded.warnings if ": " not in text), None)
    seconds = time.perf_counter() - started
    failure = f"{seconds:.0f} s" if seconds > TIME_LIMIT_S else failure
    return None if failure is None else f"{failure}\n{described}"


def sweep_file_failure(rng: random.Random, folder: Path) -> str | None:
    """Change a shipped sweep file, read it, and load its scenario; return what is wrong, or None."""
    text = changed_yaml(rng, rng.choice(texts(LIBRARY / "sweeps"))[1], LIBRARY / "sweeps")
    file = folder / "input.yaml"
    file.write_text(text, encoding="utf-8")
    started = time.perf_counter()
    failure = None
    try:
        prepare_sweep(load_sweep(file), (), "")
    except ScenarioError as error:
        failure = unlocated(error.mistakes, str(file), text)
    except (SweepError, AssignorError) as error:
        failure = None if str(error).startswith(str(file)) else f"not located: {error}"
    seconds = time.perf_counter() - started
    failure = f"{seconds:.0f} s" if seconds > TIME_LIMIT_S else failure
    return None if failure is None else f"{failure}\n{text}"


def unlocated(mistakes: Iterable[Mistake], source: str, text: str) -> str | None:
    """Return the first mistake without its place, or None.

    A mistake needs a line, unless an override made it; and a path, unless it is in another file or the text
    is not a mapping in YAML.
    """
    for mistake in mistakes:
        is_override = mistake.source.startswith(("--set ", f"{source}:"))
        if mistake.line is None and not is_override:
            return f"without line: {mistake}"
        if mistake.line is not None and mistake.source == source and not 1 <= mistake.line <= text.count("\n") + 1:
            return f"line outside the file: {mistake}"
        has_path = bool(mistake.path) or mistake.source.startswith("--set =")
        if not has_path and (is_override or (mistake.source == source and _is_mapping(text))):
            return f"without path: {mistake}"
    return None


def changed_yaml(rng: random.Random, text: str, folder: Path) -> str:
    """Return a YAML text with damaged characters, or with changed values; some come from other files of the folder."""
    kind = rng.random()
    if kind < 0.2:
        return damaged_text(rng, text)
    if kind < 0.35:
        return with_yaml_syntax(rng, text)
    tree = read_yaml(text).value
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            tree = changed_document(rng, tree)
            continue
        known = value_places(tree)
        if not known:
            break
        parent, key = rng.choice(known)
        other = json.loads(rng.choice(_trees(folder)))
        match rng.randrange(4):
            case 0:
                parent[key] = rng.choice(_FIELD_VALUES)
            case 1:
                source, source_key = rng.choice(value_places(other))
                parent[key] = source[source_key]
            case 2 if isinstance(key, str) and key in other:
                parent[key] = other[key]
            case _ if isinstance(parent, dict):
                source, source_key = rng.choice([place for place in value_places(other) if isinstance(place[0], dict)])
                parent[source_key] = source[source_key]
            case _:
                parent.insert(key, parent[key])
    return json.dumps(tree, indent=1)


def with_yaml_syntax(rng: random.Random, text: str) -> str:
    """Return the text with one to three rare constructs of YAML, in place of values, keys, indentation or anywhere."""
    for _ in range(rng.randint(1, 3)):
        construct = rng.choice(_YAML_SYNTAX)
        lines = text.split("\n")
        number = rng.randrange(len(lines))
        key, colon, value = lines[number].partition(": ")
        match rng.randrange(6):
            case 0:
                lines[number] = f"{key}{colon}{construct}"
            case 1:
                lines[number] = f"{construct}{colon}{value}"
            case 2:
                lines.insert(rng.choice((0, number)), construct)
            case 3:
                lines[number] = f"{key}{colon}{construct} {value}"
            case 4:
                del lines[number:]
            case _:
                position = rng.randrange(len(lines[number]) + 1)
                lines[number] = lines[number][:position] + construct + lines[number][position:]
        text = "\n".join(lines)
    return text


def _override(rng: random.Random, text: str) -> tuple[str, str]:
    value = str(rng.choice((*_FIELD_VALUES, *HOSTILE_TEXTS)))
    if rng.random() < 0.2:
        return rng.choice((*HOSTILE_TEXTS, "clients", "clients[0", "clients[99].count", "a.b.c", "seeds.x")), value
    try:
        tree = read_yaml(text).value
    except YamlReadError:
        return "clients[0].count", value
    path, node = "", tree
    while isinstance(node, dict | list) and node and (not path or rng.random() < 0.8):
        key: Any = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        path += f"[{key}]" if isinstance(node, list) else f".{key}" if path else key
        node = node[key]
    return path or "seeds", value


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(read_yaml(text).value, dict)
    except YamlReadError:
        return False
