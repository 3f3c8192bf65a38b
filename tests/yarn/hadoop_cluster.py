"""HDFS with one data node and YARN with one node manager on this machine (Hadoop's mini-clusters), through Maven.

They end with the process that starts them, however that ends.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from tools.artifacts import HADOOP_CLUSTER
from tools.java import ClusterError, build_classpath, find_executable, tail

START_TIMEOUT_S: Final = 180.0
MEMORY_MB: Final = 4_096
CORES: Final = 4

_JAVA_OPTIONS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")


@dataclass(frozen=True, slots=True)
class HadoopCluster:
    """A running cluster.

    Attributes:
        uri: URI of its file system.
        conf: folder of its configuration, for HADOOP_CONF_DIR; HDFS is the default file system.
    """

    uri: str
    conf: Path

    def spark_settings(self) -> dict[str, str]:
        """Return the Spark configuration for `--master yarn`: one executor with two cores."""
        jars = Path(pyspark.__file__).parent / "jars"
        return {
            "spark.submit.deployMode": "client",
            "spark.executor.instances": "1",
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.yarn.am.memory": "512m",
            "spark.yarn.jars": f"local:{jars}/*",  # Otherwise, Spark uploads all of them for each command.
            "spark.yarn.am.waitTime": "300s",
            "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.yarn.am.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        }

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a command that uses the cluster."""
        return {"HADOOP_CONF_DIR": str(self.conf), "PYSPARK_PYTHON": sys.executable}


@contextmanager
def hadoop_cluster() -> Iterator[HadoopCluster]:
    """Start a cluster with an empty file system for the duration of the block.

    Yields:
        The cluster.

    Raises:
        ClusterError: Java or Maven is missing, or the cluster does not start.
    """
    classpath = build_classpath(HADOOP_CLUSTER)
    java = find_executable("java", "a JDK, version 17 or newer")
    with tempfile.TemporaryDirectory(prefix="hadoop-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [
                    java,
                    *_JAVA_OPTIONS,
                    f"-Djava.io.tmpdir={folder}",
                    "assignorsim.HadoopCluster",
                    folder,
                    str(MEMORY_MB),
                    str(CORES),
                ],
                cwd=folder,
                env={**os.environ, "CLASSPATH": classpath},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        try:
            yield HadoopCluster(_uri(process, log), Path(folder) / "conf")
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def _uri(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the URI of the file system, which the cluster prints when it has started.

    Raises:
        ClusterError: it does not start in time.
    """
    assert process.stdout is not None
    if select.select([process.stdout], [], [], START_TIMEOUT_S)[0] and (line := process.stdout.readline()):
        return line.decode().strip()
    raise ClusterError(f"Hadoop's mini-clusters did not start:\n{tail(log)}")
