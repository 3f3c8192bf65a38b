"""Execution of a sweep on Spark, in batches that are written atomically.

```
OUT/manifest.json             the sweep
OUT/settings/                 one row per setting: its number, and one column per factor
OUT/runs/batch=00000/ …       the tables of `simulator.results.tables`, each row with its run_id and setting
OUT/rounds/batch=00000/ …
```

The tables of a batch are written to a temporary folder and then moved, `runs` last: a batch is complete when its runs
exist. They are a single file, which appears in one operation on every file system; what a killed process has left of a
batch without runs is replaced when the sweep is resumed.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.connect_session import is_connect, runs_on_this_machine
from pipeline.spark_jobs import spark_jobs
from pipeline.storage import Storage
from pipeline.sweep.batch_job import UNFINISHED, count_finished_chunks, finished_batches, run_batch
from pipeline.sweep.job import MAX_BATCHES, Batch, RunGroup, SweepJob
from pipeline.sweep.run_groups import STOPPED, run_groups
from scenarios.language.errors import SweepError
from scenarios.sweeps.design import Sweep
from simulator.results.schema_checks import SchemaError, read_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_workers(spark: SparkSession) -> None:
    """Start a Python worker for each core of this machine while this process goes on; a cluster starts its own.

    Java takes seconds to load what it plans the first job with, on one core. The workers import their modules at the
    same time. What fails here fails again in a job that reports it.
    """
    if not runs_on_this_machine(spark):
        return
    context = spark.sparkContext
    cores = context.defaultParallelism

    def start() -> None:
        with suppress(Exception):
            context.setJobGroup("workers", "start Python workers")
            context.parallelize(range(cores), cores).foreachPartition(_do_nothing)

    threading.Thread(target=start, daemon=True).start()


def _do_nothing(_: Iterable[int]) -> None:
    """Be a function that makes Spark start a worker."""


MANIFEST = "manifest.json"

_MIN_CONCURRENT_BATCHES = 2
"""Minimum number of concurrent batches: one starts while the last chunks of another run and its tables are written."""

_POLL_INTERVAL_S = 0.5

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sweep, in runs.

    Attributes:
        total: number of runs of the sweep, without those of stopped pairs.
        finished_before: number of runs finished before this call.
        done: number of finished runs, including those finished before this call.
        failed: number of runs of this call that raised an error.
    """

    total: int
    finished_before: int
    done: int
    failed: int


def run_sweep(
    spark: SparkSession,
    job: SweepJob,
    out: str,
    *,
    resume: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Simulate all missing runs of a sweep.

    `out`: the output folder, a path or a URI; `resume` says whether to continue an interrupted sweep; `on_progress`:
    called regularly with the progress. Returns the final progress. A sweep that any exception interrupts can be
    resumed. Raises SweepError if the folder contains something else, or part of this sweep without `resume`.
    """
    storage = Storage(spark, out)
    with storage.lock():
        return _run_sweep(spark, job, storage, resume, on_progress)


@contextmanager
def _without_generated_code(spark: SparkSession) -> Iterator[None]:
    """Let Spark evaluate plans without generating and compiling Java code for them: a sweep moves few values in Java.

    A server of Spark Connect keeps its settings; it has compiled the code for earlier sweeps.
    """
    settings = {} if is_connect(spark) else _INTERPRETED
    before = {key: spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, earlier in before.items():
            spark.conf.set(key, str(earlier))


def _run_sweep(
    spark: SparkSession, job: SweepJob, storage: Storage, resume: bool, on_progress: Callable[[Progress], None]
) -> Progress:
    """Simulate the missing runs of a sweep in a folder that is locked; return the final progress."""
    finished = finished_batches(storage)
    manifest = _claim_directory(storage, job, finished, resume=resume)
    total = job.prepared.total - manifest.get(STOPPED, {}).get("runs", 0)
    if _is_done(manifest, job, finished):
        state = Progress(total, total, total, 0)
        on_progress(state)
        return state
    state = Progress(total, 0, 0, 0)

    def run_group(group: RunGroup, later: int = 0) -> None:
        """Run the missing batches of a group; there are at most `later` runs after it."""
        nonlocal state
        remaining = [batch for batch in group.batches if batch.name not in finished]
        finished_runs = group.runs - sum(batch.runs for batch in remaining)
        state = replace(
            state,
            total=state.done + group.runs + later,
            finished_before=state.finished_before + finished_runs,
            done=state.done + finished_runs,
        )
        on_progress(state)
        if not storage.exists("settings", "settings.parquet"):
            storage.write(_settings_table(job.prepared.sweep), "settings", "settings.parquet")
        if remaining:
            state = _run_batches(spark, storage, job, group, remaining, state, on_progress)

    start_workers(spark)
    with _without_generated_code(spark):
        if job.stop_rule is None:
            run_group(job.all_runs)
        else:
            stopped = run_groups(spark, storage, job, job.stop_rule, run_group)
            state = replace(state, total=state.done)
            on_progress(state)
            storage.write_text(_json({**manifest, STOPPED: stopped}), MANIFEST)
    storage.remove(UNFINISHED)
    return state


def _is_done(manifest: Mapping[str, Any], job: SweepJob, finished: Collection[str]) -> bool:
    if job.stop_rule is not None:
        return STOPPED in manifest
    return all(batch.name in finished for batch in job.batches)


def _claim_directory(storage: Storage, job: SweepJob, finished: Collection[str], *, resume: bool) -> Mapping[str, Any]:
    """Check that the output folder belongs to the sweep, and remove unfinished batches.

    Returns the stored manifest. Raises SweepError if the folder contains something else, or part of this sweep without
    `resume`.
    """
    if not storage.exists(MANIFEST):
        if any(not name.startswith(".") for name in storage.children()):  # A killed sweep may leave a hidden file.
            raise SweepError(f"{storage.root}: exists and is not a sweep directory; choose another --out")
        storage.write_text(_json(job.manifest), MANIFEST)
        return job.manifest
    try:
        manifest = read_json(storage.read_text(MANIFEST))
    except (SchemaError, UnicodeDecodeError) as error:
        raise SweepError(f"{storage.root}: {MANIFEST}: {error}; choose another --out") from None
    if not isinstance(manifest, dict):
        raise SweepError(f"{storage.root}: {MANIFEST}: expected an object; choose another --out")
    if manifest.get("identity") != job.manifest["identity"]:
        changed = ", ".join(_changed(manifest, job.manifest)) or "the project's version"
        raise SweepError(f"{storage.root}: contains another sweep (different: {changed}); choose another --out")
    if finished and not _is_done(manifest, job, finished) and not resume:
        raise SweepError(
            f"{storage.root}: contains part of this sweep; continue it with --resume, or choose another --out"
        )
    storage.remove(UNFINISHED)
    return manifest


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a manifest that differ."""
    names = ("kind", "name", "scenario", "changes", "factors", "settings", "assignors", "seeds", "tables")
    for name in (*names, "until_significant"):
        if old.get(name) != new.get(name):
            yield name


def _run_batches(
    spark: SparkSession,
    storage: Storage,
    job: SweepJob,
    group: RunGroup,
    remaining: Sequence[Batch],
    state: Progress,
    on_progress: Callable[[Progress], None],
) -> Progress:
    """Run batches, as many at a time as keep all cores busy; cancel their Spark jobs after an exception."""
    waiting = list(reversed(remaining))
    running: dict[Future[int], Batch] = {}
    jobs, attempt = spark_jobs(spark), uuid4().hex
    with ThreadPoolExecutor(MAX_BATCHES) as threads:
        try:
            while waiting or running:
                finished = {batch.name: count_finished_chunks(jobs, batch) for batch in running.values()}
                unfinished = sum(len(batch.chunks) - finished[batch.name] for batch in running.values())
                cores = jobs.cores()
                while waiting and is_another_batch_needed(len(running), unfinished, cores):
                    batch = waiting.pop()
                    unfinished += len(batch.chunks)
                    running[threads.submit(run_batch, spark, jobs, storage, job, group, batch, attempt)] = batch
                completed, _ = wait(running, _POLL_INTERVAL_S, FIRST_COMPLETED)
                for future in completed:
                    batch = running.pop(future)
                    state = Progress(
                        state.total, state.finished_before, state.done + batch.runs, state.failed + future.result()
                    )
                begun = sum(batch.runs_of_first(finished.get(batch.name, 0)) for batch in running.values())
                on_progress(Progress(state.total, state.finished_before, state.done + begun, state.failed))
        except BaseException:
            while any(not future.done() for future in running):  # A thread may begin a job after the first call.
                jobs.cancel(batch.name for batch in running.values())
                wait(running, _POLL_INTERVAL_S)
            raise
    return state


def is_another_batch_needed(running: int, unfinished_chunks: int, cores: int) -> bool:
    """Return whether to start another batch.

    A batch of long runs has few chunks, so two batches do not occupy a large cluster; a batch with one very long run
    occupies a single core until it ends. The maximum limits the tables that are held and written at the same time.
    """
    if running < _MIN_CONCURRENT_BATCHES:
        return True
    return unfinished_chunks < cores and running <= min(cores, MAX_BATCHES - 1)


def _settings_table(sweep: Sweep) -> bytes:
    """Return the settings as a Parquet file with one row per setting and one column per factor."""
    columns = {"setting": pa.array(range(len(sweep.settings)), pa.int64())}
    for index, factor in enumerate(sweep.factors):
        values = [setting[index] for setting in sweep.settings]
        if factor.is_number:
            columns[factor.name] = pa.array([float(value) for value in values], pa.float64())
        else:
            texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
            columns[factor.name] = pa.array(texts, pa.string())
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
