"""A sweep on Spark: every run of a design, in batches that are there whole or not at all.

```
OUT/manifest.json             what was swept, and with what
OUT/settings/                 a row a setting: its number, and a column a factor
OUT/runs/batch=00000/ …       the tables of `simulator.results.tables`, each row with its run_id and setting
OUT/rounds/batch=00000/ …
```

A batch's tables are written beside all this and then moved in, `runs` last: a batch is done when its runs are there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.storage import Storage
from pipeline.sweep.batch_job import WORKPLACE, count_finished_runs, run_batch
from pipeline.sweep.batches import Batch
from pipeline.sweep.design import Sweep
from pipeline.sweep.errors import SweepError
from pipeline.sweep.prepared import PreparedSweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANIFEST = "manifest.json"

_AT_ONCE = 2
"""Batches under way: while the last chunks of one are made and its tables written, the next one has begun."""

_LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is, in runs.

    Attributes:
        total: of the whole sweep.
        found: of these, done before this sweep was taken up.
        done: done by now, those found included.
        failed: of those done since, how many came to an error.
    """

    total: int
    found: int
    done: int
    failed: int


def run_sweep(
    spark: SparkSession,
    prepared: PreparedSweep,
    out: str,
    *,
    resume: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Make every run of a sweep that is not there yet.

    Args:
        spark: where.
        prepared: the sweep.
        out: the folder of results, a path or a URI.
        resume: whether to go on with a sweep of which a part is there.
        tell: is told from time to time how far it is.

    Returns:
        How it ended. What is interrupted, by any exception, can be resumed.

    Raises:
        SweepError: the folder holds something else, or a part of this sweep without `resume`.
    """
    storage = Storage(spark, out)
    there = set(storage.children("runs"))
    left = [batch for batch in prepared.batches if batch.name not in there]
    _claim(storage, prepared, is_begun=bool(there), is_done=not left, resume=resume)
    total = prepared.total
    found = total - sum(batch.runs for batch in left)
    state = Progress(total, found, found, 0)
    on_progress(state)
    if not left:
        return state
    storage.write(_settings_table(prepared.sweep), "settings", "settings.parquet")
    state = _make(spark, storage, prepared, left, state, on_progress)
    storage.remove(WORKPLACE)
    return state


def _claim(storage: Storage, prepared: PreparedSweep, *, is_begun: bool, is_done: bool, resume: bool) -> None:
    """See that the folder is ours, and clear what an interrupted sweep left half-made."""
    if not storage.exists(MANIFEST):
        if storage.children():
            raise SweepError(f"{storage.root}: is there already and holds no sweep; name another folder")
        storage.write_text(_json(prepared.manifest), MANIFEST)
        return
    manifest = json.loads(storage.read_text(MANIFEST))
    if manifest.get("identity") != prepared.manifest["identity"]:
        changed = ", ".join(_changed(manifest, prepared.manifest)) or "the project's version"
        raise SweepError(f"{storage.root}: holds another sweep (different: {changed}); name another folder")
    if is_begun and not is_done and not resume:
        raise SweepError(f"{storage.root}: holds a part of this sweep; go on with --resume, or name another folder")
    storage.remove(WORKPLACE)


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in ("kind", "name", "scenario", "changes", "factors", "settings", "assignors", "seeds", "tables"):
        if old.get(name) != new.get(name):
            yield name


def _make(
    spark: SparkSession,
    storage: Storage,
    prepared: PreparedSweep,
    left: Sequence[Batch],
    state: Progress,
    on_progress: Callable[[Progress], None],
) -> Progress:
    """Make batches, a few at a time; after an exception, nothing runs any more."""
    waiting = list(reversed(left))
    under_way: dict[Future[int], Batch] = {}
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < _AT_ONCE:
                    batch = waiting.pop()
                    under_way[threads.submit(run_batch, spark, storage, prepared, batch)] = batch
                ended, _ = wait(under_way, _LOOK_EVERY_S, FIRST_COMPLETED)
                for future in ended:
                    batch = under_way.pop(future)
                    state = Progress(state.total, state.found, state.done + batch.runs, state.failed + future.result())
                begun = sum(count_finished_runs(spark, batch) for batch in under_way.values())
                on_progress(Progress(state.total, state.found, state.done + begun, state.failed))
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise
    return state


def _settings_table(sweep: Sweep) -> bytes:
    """A row a setting, as a file of Parquet: a column a factor, of numbers where all its values are."""
    columns = {"setting": pa.array(range(len(sweep.settings)), pa.int64())}
    for place, factor in enumerate(sweep.factors):
        values = [setting[place] for setting in sweep.settings]
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
