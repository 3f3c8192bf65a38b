"""The process that forks Spark's Python workers, with the modules that they need already imported.

Spark starts it instead of `pyspark.daemon`. Importing takes more than a second, and every worker of a sweep needs the
same modules: they are imported once, while Java plans the first jobs, and the workers share their memory.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress

MODULES = ("pyspark.worker", "pandas", "pipeline.worker", "pipeline.sweep.batch_job")
"""What the workers of sweeps and recommendations import; those of other commands need the first two."""


def daemon_settings(py_files: Sequence[str]) -> dict[str, str]:
    """Return the settings by which Spark starts this daemon on the machine of the driver.

    `py_files`: Python code that is shipped to the workers, which add it to their search path after they are forked.
    Returns nothing if the workers' Python is another one, or may not find this project without such code.
    """
    is_this_python = os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable
    if not is_this_python or py_files:
        return {}
    # Functions on tables have this variable, and another daemon if the jobs of `start_workers` do not have it, too.
    return {"spark.python.daemon.module": __name__, "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1"}


def import_modules() -> None:
    """Import the modules; a worker that cannot import one raises the error itself, when it needs the module.

    Java reads the port of this process from its standard output, which imports must not write to.
    """
    with redirect_stdout(sys.stderr):
        for module in MODULES:
            with suppress(Exception):  # NumPy and pandas that do not match raise a ValueError.
                importlib.import_module(module)
    # Collections of garbage would copy the shared memory into each worker.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import_modules()
    from pyspark.daemon import manager

    manager()
