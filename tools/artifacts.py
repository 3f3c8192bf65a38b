"""The released artifacts that tools and tests take from Maven Central, in one list of pinned versions.

The releases of Kafka are in `assignors/kafka_releases.py`; Python packages in requirements.lock; JavaScript packages in
tests/javascript/package-lock.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from assignors.jvm.loading import Dependency
from tools.java import JavaProgram

_TOOLS: Final = Path(__file__).resolve().parent
_TESTS: Final = _TOOLS.parent / "tests"

HELP_PLUGIN: Final = "org.apache.maven.plugins:maven-help-plugin:3.4.0"

JACKSON: Final = Dependency("com.fasterxml.jackson.core:jackson-databind:2.18.2")
JACKSON_JDK8: Final = Dependency("com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.18.2")
SLF4J_SIMPLE: Final = Dependency("org.slf4j:slf4j-simple:1.7.36")
"""One logging backend for every release, which needs no configuration file."""

RELOAD4J: Final = Dependency("ch.qos.reload4j:reload4j:1.2.25")
JUNIT: Final = Dependency("org.junit.jupiter:junit-jupiter-api:5.10.2")
JUNIT_CONSOLE: Final = Dependency("org.junit.platform:junit-platform-console-standalone:1.10.2")
"""It has the same release of JUnit in it, and runs tests from a shell."""


MOCKITO: Final = Dependency("org.mockito:mockito-junit-jupiter:5.20.0")
HAMCREST: Final = Dependency("org.hamcrest:hamcrest:3.0")
LOG4J: Final = Dependency("org.apache.logging.log4j:log4j-slf4j-impl:2.25.3")
"""What Kafka's unit tests use; Mockito brings Byte Buddy, which changes classes."""

HADOOP: Final = "3.5.0"
"""The release of Hadoop in PySpark; the versions of AWS's and of BouncyCastle's artifacts are those of its project."""

HADOOP_CLUSTER: Final = JavaProgram(
    "hadoop-cluster",
    (_TESTS / "yarn",),
    (
        Dependency(f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}"),
        Dependency(f"org.apache.hadoop:hadoop-client-api:{HADOOP}"),
        Dependency(f"org.apache.hadoop:hadoop-client-runtime:{HADOOP}"),
        JUNIT,  # The mini-clusters use its assertions.
        RELOAD4J,
        Dependency("org.bouncycastle:bcprov-jdk18on:1.82"),
        Dependency("org.bouncycastle:bcpkix-jdk18on:1.82"),
    ),
)
"""The mini-clusters of Hadoop, and the program that runs them."""

_NO_SLF4J: Final = ("org.slf4j:*",)  # Spark has its own.

S3_CONNECTOR: Final = (
    Dependency(f"org.apache.hadoop:hadoop-aws:{HADOOP}", ("*:*",)),
    Dependency("software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1", ("*:*",)),
    Dependency("software.amazon.awssdk:s3-transfer-manager:2.35.4", _NO_SLF4J),
    Dependency("software.amazon.awssdk:sts:2.35.4", _NO_SLF4J),
    Dependency("software.amazon.awssdk:apache-client:2.35.4", _NO_SLF4J),
)
"""Hadoop's connector for S3 with the modules of the AWS SDK that it uses; its own dependency is all modules, 690 MB."""

OBJECT_STORE: Final = JavaProgram(
    "object-store",
    (_TESTS / "object_store",),
    (
        Dependency(
            "org.gaul:s3proxy:4.1.0",
            (
                # Clients of other object stores: the server keeps its objects in memory.
                "com.azure:*",
                "com.github.openstack4j.core:*",
                "com.github.openstack4j.core.connectors:*",
                "com.google.cloud:*",
                "io.grpc:*",
                "org.apache.sshd:*",
            ),
        ),
    ),
)
"""S3Proxy, an S3-compatible server, and the program that runs it."""


def kafka_cluster(kafka: str) -> JavaProgram:
    """Return brokers, clients and tools of a release of Kafka, with the programs that tests run on a cluster."""
    return JavaProgram(
        f"kafka-cluster-{kafka}",
        (_TESTS / "kafka_cluster",),
        (
            _kafka("kafka_2.13", kafka),
            _kafka("kafka-streams", kafka),
            Dependency(f"org.apache.kafka:kafka-tools:{kafka}", ("org.slf4j:slf4j-reload4j",)),
            SLF4J_SIMPLE,
            RELOAD4J,  # Only brokers of Kafka 3 use its classes.
        ),
    )


def streams_members(kafka: str) -> JavaProgram:
    """Return the program that sends messages of the protocol of streams groups, with the interfaces of KIP-1357."""
    return JavaProgram(
        f"streams-members-{kafka}",
        (_TESTS / "real_kafka" / "streams_members",),
        (
            _kafka("kafka-clients", kafka),
            _kafka("kafka-group-coordinator-api", kafka),
            JACKSON,  # Converts messages from and to JSON; an optional dependency of Kafka's.
            JACKSON_JDK8,
            SLF4J_SIMPLE,
        ),
    )


def streams_oracle(kafka: str) -> JavaProgram:
    """Return the program that asks the assignors of Kafka Streams.

    Here and below, no logging backend: Kafka formats some log lines itself, but none is written. Jackson is first, so
    that all its modules have this version, whichever one Kafka depends on.
    """
    return JavaProgram(f"kafka-oracle-{kafka}", (_TOOLS / "kafka_oracle",), (JACKSON, _kafka("kafka-streams", kafka)))


KAFKA_TESTS: Final = {"3.8": "3.8.1", "3.9": "3.9.2", "4.0": "4.0.2", "4.1": "4.1.2", "4.2": "4.2.1", "4.3": "4.3.1"}
"""The newest version of each release whose unit tests are published: those of 4.2.2 and 4.4.0 are not."""


def kafka_tests(kafka: str) -> JavaProgram:
    """Return Kafka's own unit tests of assignment, with the program that runs them."""
    return JavaProgram(
        f"kafka-tests-{kafka}",
        (_TOOLS.parent / "bridge" / "src" / "kafka_tests",),
        (
            JACKSON,
            _kafka("kafka-streams", kafka),
            Dependency(f"org.apache.kafka:kafka-streams:{kafka}", classifier="test"),
            Dependency(f"org.apache.kafka:kafka-clients:{kafka}", classifier="test"),
            JUNIT_CONSOLE,
            MOCKITO,
            HAMCREST,
            LOG4J,
        ),
    )


def group_oracle(kafka: str) -> JavaProgram:
    """Return the program that writes the configs of streams groups."""
    return JavaProgram(
        f"kafka-group-oracle-{kafka}",
        (_TOOLS / "kafka_group_oracle",),
        (JACKSON, *_coordinator(kafka), _kafka("kafka-clients", kafka)),
    )


def group_replay(kafka: str) -> JavaProgram:
    """Return the program that replays histories of groups through the coordinator, on a virtual clock."""
    has_streams_groups = tuple(map(int, kafka.split("."))) >= (4, 1)
    folder = _TOOLS.parent / "bridge" / "src" / "replay"
    return JavaProgram(
        f"group-replay-{kafka}",
        (folder / "common", *([folder / "streams"] if has_streams_groups else [])),
        (JACKSON, *_coordinator(kafka), _kafka("kafka-clients", kafka)),
    )


def consumer_oracle(kafka: str, protocol: str) -> JavaProgram:
    """Return the program that asks the assignors of consumers: in clients (`classic`), or in brokers (`consumer`)."""
    folder = _TOOLS / "kafka_consumer_oracle" / "src"
    coordinator = _coordinator(kafka) if protocol == "consumer" else ()
    return JavaProgram(
        f"kafka-consumer-oracle-{protocol}-{kafka}",
        (folder / "main", folder / protocol),
        (JACKSON, _kafka("kafka-clients", kafka), *coordinator),
    )


def _coordinator(kafka: str) -> tuple[Dependency, ...]:
    # The coordinator's jar requires its interfaces, and does not declare them for compilation.
    return _kafka("kafka-group-coordinator", kafka), _kafka("kafka-group-coordinator-api", kafka)


def _kafka(artifact: str, version: str) -> Dependency:
    return Dependency(f"org.apache.kafka:{artifact}:{version}")
