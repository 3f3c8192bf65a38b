"""Capture of the output of Kafka's own tools about a cluster on which a Kafka Streams application has just run."""

from __future__ import annotations

from pathlib import Path

from tests.kafka_cluster.cluster import KafkaCluster

APPLICATION = "assignorsim.OrderProcessing"
PREPARE_TIMEOUT_S = 120
DRAIN_TIMEOUT_S = 400

# Two replicas: with a replica in each of three racks, all task placements would be equally good.
STREAMS_CONFIG = (
    "replication.factor=2",
    "num.stream.threads=2",
    "commit.interval.ms=1000",
    "producer.max.in.flight.requests.per.connection=1",  # The repartition topics are as new as the application's input.
)


def capture(cluster: KafkaCluster, out_dir: Path) -> None:
    """Run the order-processing application on `cluster`, then write the tools' output to files in `out_dir`.

    The files are `topics.txt`, `brokers.txt`, `topology.txt` and `log_dirs.json.txt`, unmodified standard output.

    Raises:
        ClusterError: The application or a tool fails or times out.
    """
    cluster.run_main(APPLICATION, "prepare", cluster.bootstrap_servers, timeout_s=PREPARE_TIMEOUT_S)
    state_dir = f"state.dir={cluster.work_dir / 'streams'}"
    arguments = ["drain", cluster.bootstrap_servers, str(DRAIN_TIMEOUT_S), *STREAMS_CONFIG, state_dir]
    tasks = cluster.run_main(APPLICATION, *arguments, timeout_s=DRAIN_TIMEOUT_S + 60, heap_mb=512)
    print(f"The application ran these tasks, by subtopology: {tasks.strip()}")
    printed = {
        "topics.txt": cluster.run_tool("TopicCommand", "--describe"),
        "brokers.txt": cluster.run_tool("BrokerApiVersionsCommand"),
        "topology.txt": cluster.run_main(APPLICATION, "describe", timeout_s=PREPARE_TIMEOUT_S),
        "log_dirs.json.txt": cluster.run_tool("LogDirsCommand", "--describe"),
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, text in printed.items():
        (out_dir / name).write_text(text)
        print(f"{out_dir / name}: {len(text.splitlines())} lines")
