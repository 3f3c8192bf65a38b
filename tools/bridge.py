"""Build the Java bridge: compile `bridge/src` and pack it as `assignors/jvm/bridge.jar`.

Each folder of `bridge/src` is compiled against the release of Kafka whose interfaces it uses; the jar has no class of
Kafka. Needs a JDK, and Maven for the jars of Kafka. Equal sources give an equal jar with the same JDK.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from assignors.jvm.loading import released_jars
from assignors.jvm.process import BRIDGE, OLDEST_JAVA
from assignors.jvm.reference import COORDINATOR, STREAMS, KafkaArtifact
from assignors.kafka_releases import BROKERS, CLIENTS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "bridge" / "src"
JAR = ROOT / "assignors" / "jvm" / BRIDGE

FOLDERS: Final = (
    ("server", None),
    ("streams", KafkaArtifact(STREAMS, CLIENTS["4.3"])),
    ("common", None),
    ("before_4_4", KafkaArtifact(COORDINATOR, BROKERS["4.3"])),
    ("from_4_4", KafkaArtifact(COORDINATOR, BROKERS["4.4"])),
)
"""The folders in the order of compilation, with the release of each."""

_OPTIONS: Final = ("--release", str(OLDEST_JAVA), "-Xlint:all,-processing,-classfile", "-Werror", "-encoding", "UTF-8")
_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)


def main() -> int:
    """Build the jar."""
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as name:
        classes = Path(name)
        for folder, kafka in FOLDERS:
            sources = sorted((SOURCES / folder).rglob("*.java"))
            compile_files(sources, classes, () if kafka is None else released_jars(kafka))
        pack(classes, JAR)
    print(f"{JAR.relative_to(ROOT)}: {JAR.stat().st_size:,} bytes")
    return 0


def compile_files(sources: Sequence[Path], classes: Path, jars: Sequence[str]) -> None:
    """Compile source files into the folder `classes`, which may have classes that they use."""
    classpath = os.pathsep.join([str(classes), *jars])
    home = os.environ.get("JAVA_HOME", "")
    javac = os.path.join(home, "bin", "javac") if home else "javac"
    subprocess.run([javac, *_OPTIONS, "-cp", classpath, "-d", str(classes), *map(str, sources)], check=True)


def pack(classes: Path, jar: Path) -> None:
    """Pack classes in a jar, under a temporary name of this process first; equal classes give an equal jar."""
    temporary = jar.with_suffix(f".{os.getpid()}.part")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(file.relative_to(classes).as_posix(), _TIMESTAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
    temporary.replace(jar)


if __name__ == "__main__":
    sys.exit(main())
