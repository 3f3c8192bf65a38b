"""Scenarios with newer sections; arguments of commands; environments of `doctor`."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path
from unittest import mock

import assignor_sim as sim
from assignors.errors import AssignorError
from scenarios.language.errors import ScenarioError
from scenarios.load import loads
from tests.assignor_sim.commands.plan_commands import write_cluster
from tests.assignor_sim.conftest import SMALL
from tests.hostile.commands import command_failure
from tests.hostile.mutations import HOSTILE_TEXTS, changed_json, damaged_text
from tests.hostile.scenarios import LIBRARY, TIME_LIMIT_S, changed_yaml, unlocated

_FEATURES = (
    SMALL.replace("brokers: {count: 3", 'kafka: "4.3.1"\n  brokers: {count: 3')
    .replace("  id: app\n", '  id: app\n  kafka: "4.1.1"\n')
    .replace("threads: 2}\n  - {name: late", "threads: 2, static_membership: true}\n  - {name: late")
    .replace("assignor: legacy_sticky", "assignor: legacy_sticky, expect: {rebalances: '<= 9', active_moves: '< 100'}")
    .replace(
        "assignors:\n",
        '  - {at: 1h, upgrade: {brokers: "4.4.0", down: 30s}}\n'
        '  - {at: 2h, upgrade: {clients: app, to: "4.4.0", order: by_rack}}\n'
        "assignors:\n",
    )
    + "expect:\n"
    "  worst_downtime_ms: ['< 1h', '>= 0 s']\n"
    "  cross_rack_bytes: '<= +5%'\n"
    "  against: sticky\n"
)
_CONSUMERS = (
    SMALL.replace("name: small\n", "name: small\nsubject: billing\n")
    + """\
consumers:
  - group: billing
    topics: [orders]
    kafka: "4.3.1"
    configs: {group.protocol: consumer, group.remote.assignor: uniform}
    poll_interval: 5s
    starts_in: 2s
    clients: [{name: billing, count: 3, racks: [az1, az2, az3], consumers: 2, records_per_s: 9000}]
    assignors: [range, {assignor: cooperative-sticky, label: cooperative, expect: {rebalances: '<= 9'}}]
  - group: audit
    topics: [orders]
    clients: [{name: audit, rack: az1, static_membership: true, client_rack: false}]
other_traffic:
  producers:
    - {name: checkout, topics: [orders], racks: [az1, az2], share: 0.4}
    - {name: web, racks: {az1: 4, az2: 1}, keyed: false, kafka: "4.4", configs: {compression.type: zstd}}
  groups:
    - {name: search, topics: [orders], racks: [az1, az3], read_share: 2}
    - {name: archive, topics: [orders], racks: {az2: 1}, client_rack: false}
  compression_ratios: {lz4: 2.2, zstd: 3.1}
"""
)
_RUN_SHARE = 0.05
_PLAN_OPTIONS = (
    *("--strategy", "--from", "--brokers", "--log-dirs", "--rates", "--remove-broker", "--add-broker", "--topics"),
    *("--replication-factor", "--topics-to-move-json-file", "--batch-partitions", "--batch-bytes", "--throttle"),
    *("--headroom", "--goals", "--format", "--set", "--seed"),
)
_FLAGS = ("--all", "--no-racks")
_VALUES = (
    *("1", "3", "7:az1", "7:az1:1 TB", "7", "exact_flow", "kafka_generate", "leader_max_flow,pruning=none", "orders"),
    *("50 MB/s", "1 GB", "0", "0.2", "json", "4.4.0", "3.9", "cold_start", "small.yaml", "today.json", "brokers.csv"),
    *("sizes.json", "os:system", ".", "/dev/null", "/proc/self/mem"),
)
_VARIABLES = (
    *("PATH", "JAVA_HOME", "HOME", "TMPDIR", "COLUMNS", "TERM", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "TZ"),
    *("SPARK_HOME", "XDG_CACHE_HOME", "LINES", "PYTHONUTF8"),
)
_JAVA_OUTPUTS = (
    *('openjdk version "17.0.1"', 'version "1.8.0_202"', 'version "99999999999999999999"', 'version "\x1b[2J17"', ""),
    *('version "17\u202e"', "\xff", 'version "²"', 'version "٣"', 'version ""', 'version "' + "9" * 5000 + '"'),
)


def features_failure(rng: random.Random) -> str | None:
    """Change a scenario with expectations, an upgrade and static members; load it, and on a sample run it."""
    return _scenario_failure(rng, _FEATURES)


def consumers_failure(rng: random.Random) -> str | None:
    """Change a scenario with consumer groups and other traffic; load it, and on a sample run it."""
    return _scenario_failure(rng, _CONSUMERS)


def _scenario_failure(rng: random.Random, valid: str) -> str | None:
    text = changed_yaml(rng, valid, LIBRARY)
    started = time.perf_counter()
    failure = None
    try:
        scenario = loads(text, "input.yaml", (), LIBRARY)
        if rng.random() < _RUN_SHARE:
            result = sim.run(scenario, explain=False, max_seconds=5, max_rebalances=50)
            places = [check.expectation.place for check in result.expectations()]
            failure = next((f"not located: {place}" for place in places if not place.startswith("input.yaml:")), None)
    except ScenarioError as error:
        failure = unlocated(error.mistakes, "input.yaml", text)
    except AssignorError:
        pass
    seconds = time.perf_counter() - started
    failure = f"{seconds:.0f} s" if seconds > 2 * TIME_LIMIT_S else failure
    return None if failure is None else f"{failure}\n{text}"


def plan_failure(rng: random.Random, folder: Path) -> str | None:
    """Plan with changed files and random options."""
    write_cluster(folder)
    changed = rng.choice(("today.json", "brokers.csv", "sizes.json", "small.yaml", ""))
    if changed:
        text = (folder / changed).read_text(encoding="utf-8")
        text = changed_json(rng, text) if changed == "today.json" else damaged_text(rng, text)
        (folder / changed).write_text(text, encoding="utf-8", errors="replace")
    cluster = rng.choice((("today.json", "--brokers", "brokers.csv"), ("small.yaml",)))
    with contextlib.chdir(folder):
        return command_failure("", "plan", *cluster, *_options(rng, _PLAN_OPTIONS), "--time-limit", "2")


def arguments_failure(rng: random.Random, folder: Path) -> str | None:
    """Call `init`, `releases` or `list` with random arguments."""
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    with contextlib.chdir(folder):
        match rng.randrange(3):
            case 0:
                name = _value(rng)[:50]
                path = name if rng.random() < 0.5 else f"{name}.yaml"
                failure = command_failure("", "init", "--", path)
                written = folder / path
                if failure is None and path != "-" and written.is_file() and written.parent == folder:
                    failure = command_failure("", "validate", "--", f"./{path}")
                    if path not in ("small.yaml", "today.json"):
                        written.unlink()
                return failure
            case 1:
                return command_failure("", "releases", "--from", _value(rng), "--to", _value(rng), "--scenario", "-")
            case _:
                return command_failure("", "list", _value(rng))


def environment_failure(rng: random.Random, folder: Path) -> str | None:
    """Call `doctor` with a strange environment, and on a sample with a strange Java."""
    java = folder / "bin" / "java"
    java.parent.mkdir(exist_ok=True)
    java.write_bytes(
        b"#!/bin/sh\ncat >&2 <<'END'\n" + rng.choice(_JAVA_OUTPUTS).encode("utf-8", "replace") + b"\nEND\n"
    )
    java.chmod(rng.choice((0o755, 0o755, 0o644, 0o000)))
    values = (*(text.replace("\0", "") for text in HOSTILE_TEXTS), str(folder), "/nonexistent", "/dev/null", str(java))
    changes = {name: rng.choice(values) for name in rng.sample(_VARIABLES, rng.randint(1, 4))}
    if rng.random() < 0.5:
        changes |= {"JAVA_HOME": str(folder)}
    with mock.patch.dict(os.environ, changes):
        return command_failure("", "doctor", *rng.choice(((), ("--format", "json"))))


def _options(rng: random.Random, names: tuple[str, ...]) -> list[str]:
    words = [word for _ in range(rng.randint(0, 3)) for word in (rng.choice(names), _value(rng))]
    return [*words, rng.choice(_FLAGS)] if rng.random() < 0.2 else words


def _value(rng: random.Random) -> str:
    return rng.choice(_VALUES) if rng.random() < 0.6 else rng.choice(HOSTILE_TEXTS).replace("\0", "")
