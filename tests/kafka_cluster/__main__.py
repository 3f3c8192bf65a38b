"""Start a real Kafka cluster, or capture the output of its tools.

python -m tests.kafka_cluster run --brokers 3 --seconds 600
python -m tests.kafka_cluster capture OUT_DIR
python -m tests.kafka_cluster storm --brokers 3 OUT_DIR
python -m tests.kafka_cluster night --brokers 1 OUT_DIR
python -m tests.kafka_cluster consumers --brokers 1 OUT_DIR
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.kafka_cluster.capture import capture
from tests.kafka_cluster.cluster import KAFKA_VERSION, ClusterSpec, KafkaCluster
from tests.kafka_cluster.consumer_night import BROKER_CONFIGS, capture_consumer_night
from tests.kafka_cluster.past_night import broker_configs_on, capture_night
from tests.kafka_cluster.rebalance_storm import capture_storm
from tools.java import ClusterError


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed command line."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--kafka", metavar="VERSION", default=KAFKA_VERSION, help="Kafka release (default: %(default)s)"
    )
    shared.add_argument("--brokers", type=int, default=6, help="number of brokers (default: %(default)s)")
    shared.add_argument("--racks", default="az1,az2,az3", help="assigned round-robin (default: %(default)s)")
    shared.add_argument(
        "--data-dir", type=Path, help="new folder for the nodes' data, removed at the end (default: temporary)"
    )
    parser = argparse.ArgumentParser(description="Start a real Kafka cluster on loopback.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", parents=[shared], help="run a cluster for some time, then stop it")
    run.add_argument("--seconds", type=int, default=3600, help="maximum time; Ctrl-C stops it (default: %(default)s)")
    save = verbs.add_parser(
        "capture", parents=[shared], help="run the order-processing application, save the output of Kafka's tools"
    )
    save.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    storm = verbs.add_parser(
        "storm", parents=[shared], help="run a group with a client that crashes repeatedly, save the leader's log"
    )
    storm.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    night = verbs.add_parser(
        "night", parents=[shared], help="run two groups through crashes, save the segments of __consumer_offsets"
    )
    night.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    consumers = verbs.add_parser(
        "consumers", parents=[shared], help="run groups of plain consumers, save the segments of __consumer_offsets"
    )
    consumers.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parse(arguments)
    # SIGTERM raises SystemExit, so that the `with` block below stops the nodes.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        by_verb = {"night": broker_configs_on(options.kafka), "consumers": BROKER_CONFIGS}
        configs = by_verb.get(options.verb, {})
        racks = tuple(options.racks.split(","))
        spec = ClusterSpec(options.brokers, racks, options.kafka, data_dir=options.data_dir, broker_configs=configs)
        with KafkaCluster(spec) as cluster:
            if options.verb == "capture":
                capture(cluster, options.out_dir)
            elif options.verb == "storm":
                capture_storm(cluster, options.out_dir)
            elif options.verb == "night":
                capture_night(cluster, options.out_dir)
            elif options.verb == "consumers":
                capture_consumer_night(cluster, options.out_dir)
            else:
                print(f"bootstrap.servers={cluster.bootstrap_servers}", flush=True)
                time.sleep(options.seconds)
    except KeyboardInterrupt:
        return 130
    except (ClusterError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
