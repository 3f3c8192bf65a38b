package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;

/**
 * Replica racks as a group leader learns them: for source topics from its metadata; for changelogs, and for topics
 * without replicas, by requests to the brokers, which this class replaces.
 */
final class BridgeTopics extends InternalTopicManager {

    private static final StreamsConfig STREAMS_CONFIG = new StreamsConfig(Map.of(
        StreamsConfig.APPLICATION_ID_CONFIG, "assignor-sim",
        StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092"
    ));

    /** The only instance, since Kafka's class parses configs when it is created. */
    private static final BridgeTopics INSTANCE = new BridgeTopics();

    private final Map<String, Node> brokers = new HashMap<>();
    private Map<TopicPartition, List<String>> racks = Map.of();

    private BridgeTopics() {
        super(Time.SYSTEM, null, STREAMS_CONFIG);
    }

    /** Returns the racks of a request; those of the former request are forgotten. */
    static BridgeTopics of(final Map<TopicPartition, List<String>> racks) {
        INSTANCE.racks = racks;
        INSTANCE.brokers.clear();
        return INSTANCE;
    }

    /** Returns the metadata of the partitions that tasks read; unknown partitions are omitted. */
    Cluster metadata(final List<BridgeRequest.Task> tasks) {
        final Set<TopicPartition> sources = new HashSet<>();
        tasks.forEach(task -> sources.addAll(task.sources()));
        sources.retainAll(racks.keySet());
        final List<PartitionInfo> partitions = new ArrayList<>();
        for (final TopicPartition partition : sources) {
            final Node[] replicas = replicas(partition).toArray(new Node[0]);
            final Node leader = replicas.length == 0 ? null : replicas[0];
            partitions.add(new PartitionInfo(partition.topic(), partition.partition(), leader, replicas, replicas));
        }
        return new Cluster("cluster", new ArrayList<>(brokers.values()), partitions, Set.of(), Set.of());
    }

    @Override
    public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(final Set<String> topics) {
        final Map<String, List<TopicPartitionInfo>> described = new HashMap<>();
        for (final TopicPartition partition : racks.keySet()) {
            if (topics.contains(partition.topic())) {
                final List<Node> replicas = replicas(partition);
                final Node leader = replicas.isEmpty() ? null : replicas.get(0);
                described.computeIfAbsent(partition.topic(), topic -> new ArrayList<>())
                    .add(new TopicPartitionInfo(partition.partition(), leader, replicas, replicas));
            }
        }
        return described;
    }

    /** Returns a broker for each of a partition's replicas: the n-th broker of a rack for the n-th replica there. */
    private List<Node> replicas(final TopicPartition partition) {
        final Map<String, Integer> seen = new HashMap<>();
        final List<Node> nodes = new ArrayList<>();
        for (final String rack : racks.get(partition)) {
            final String name = rack + "#" + seen.merge(rack, 1, Integer::sum);
            nodes.add(brokers.computeIfAbsent(name, added -> new Node(brokers.size(), "broker", 9092, rack)));
        }
        return nodes;
    }
}
