"""Changed result directories, read by every command that opens one."""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from pathlib import Path

import assignor_sim as sim
from scenarios.load import loads
from tests.assignor_sim.commands.plan_commands import PLANNERS, write_cluster
from tests.assignor_sim.conftest import SMALL
from tests.hostile.commands import command_failure
from tests.hostile.mutations import change_parquet, changed_json, damaged_bytes
from tests.reports.sample_sweep import aggregate, write

COMMANDS = (
    ("show",),
    ("show", "--format", "json"),
    ("diff", "--round", "2"),
    ("diff", "--round", "2", "--assignor", "high_availability", "--assignor", "sticky"),
    ("explain", "--task", "0_0", "--assignor", "sticky"),
)

_samples: list[tempfile.TemporaryDirectory[str]] = []


def remove_samples() -> None:
    """Remove the temporary folders of this process."""
    results.cache_clear()
    plans.cache_clear()
    while _samples:
        _samples.pop().cleanup()


def _sample_folder() -> Path:
    _samples.append(tempfile.TemporaryDirectory(prefix="assignor-sim-hostile-"))
    return Path(_samples[-1].name)


@functools.cache
def results() -> Path:
    """Write the results of a small run to a temporary folder, once per process."""
    folder = _sample_folder()
    return sim.run(loads(SMALL)).save(folder / "results")


def results_failure(rng: random.Random, folder: Path, *, with_page: bool = False) -> str | None:
    """Change one file of a result directory and open it with a random command; return what is wrong, or None."""
    directory = folder / "results"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(results(), directory)
    if rng.random() < 0.3:
        changed = directory / "manifest.json"
        text = changed.read_text(encoding="utf-8")
        if rng.random() < 0.1:
            changed.write_bytes(damaged_bytes(rng, text.encode()))
        else:
            changed.write_text(changed_json(rng, text), encoding="utf-8")
        change = "manifest.json"
    else:
        change = change_parquet(rng, rng.choice(sorted(directory.glob("*.parquet"))))
    if with_page:
        failure = command_failure(directory, "report", directory, "-o", folder / "page.html")
    else:
        command, *options = rng.choice(COMMANDS)
        failure = command_failure(directory, command, directory, *options)
    return None if failure is None else f"{change}: {failure}"


@functools.cache
def plans() -> Path:
    """Write the results of two replica plans to a temporary folder, once per process."""
    folder = _sample_folder()
    write_cluster(folder)
    cluster = (folder / "today.json", "--brokers", folder / "brokers.csv", "--log-dirs", folder / "sizes.json")
    strategies = ("--strategy", "kafka_generate", "--strategy", f"{PLANNERS}RoundRobin")
    failure = command_failure("", "plan", *cluster, *strategies, "--out", folder / "plans")
    assert failure is None, failure
    return folder / "plans"


def plans_failure(rng: random.Random, folder: Path) -> str | None:
    """Change one file of a plan folder and write a page of it; return what is wrong, or None."""
    directory = folder / "plans"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(plans(), directory)
    if rng.random() < 0.5:
        manifest = directory / "manifest.json"
        manifest.write_text(changed_json(rng, manifest.read_text(encoding="utf-8")), encoding="utf-8")
        change = "manifest.json"
    else:
        change = change_parquet(rng, rng.choice(sorted(directory.glob("*.parquet"))))
    failure = command_failure(directory, "report", directory, "-o", folder / "page.html")
    return None if failure is None else f"{change}: {failure}"


def sweep_failure(rng: random.Random, folder: Path) -> str | None:
    """Change one file of an aggregated sweep and write a page of it; return what is wrong, or None."""
    directory = folder / "sweep"
    shutil.rmtree(directory, ignore_errors=True)
    write(aggregate(), directory)
    if rng.random() < 0.5:
        changed = rng.choice((directory / "manifest.json", directory / "aggregate" / "summary.json"))
        changed.write_text(changed_json(rng, changed.read_text(encoding="utf-8")), encoding="utf-8")
        change = changed.name
    else:
        change = change_parquet(rng, rng.choice(sorted(directory.glob("aggregate/*/*.parquet"))))
    failure = command_failure(directory, "report", directory, "-o", folder / "page.html")
    return None if failure is None else f"{change}: {failure}"
