package assignorsim;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyDescription;

/** The order-processing application as a program: describes itself, prepares its topics, or reads all its input. */
public final class OrderProcessing {

    static final String APPLICATION_ID = "order-processing";

    private static final String USAGE = """
        usage: OrderProcessing describe
               OrderProcessing prepare BOOTSTRAP_SERVERS
               OrderProcessing drain BOOTSTRAP_SERVERS SECONDS [STREAMS_CONFIG=VALUE ...]""";

    private OrderProcessing() { }

    /** Exits with 0 on success, 1 if {@code drain} timed out, 2 on invalid arguments. */
    public static void main(final String[] args) throws Exception {
        final String verb = args.length == 0 ? "" : args[0];
        if (verb.equals("describe") && args.length == 1) {
            System.out.print(OrderTopology.build().describe());
        } else if (verb.equals("prepare") && args.length == 2) {
            prepare(args[1]);
        } else if (verb.equals("drain") && args.length >= 3) {
            System.exit(drain(args) ? 0 : 1);
        } else {
            System.err.println(USAGE);
            System.exit(2);
        }
    }

    private static void prepare(final String bootstrapServers) throws ExecutionException, InterruptedException {
        try (Admin admin = admin(bootstrapServers)) {
            OrderTopics.create(admin);
        }
        OrderTopics.fill(bootstrapServers);
    }

    /** Runs the application until it has read and committed all its input, and prints the tasks that it ran. */
    private static boolean drain(final String[] args) throws ExecutionException, InterruptedException {
        final Instant deadline = Instant.now().plusSeconds(Long.parseLong(args[2]));
        try (Admin admin = admin(args[1]);
             KafkaStreams streams = new KafkaStreams(OrderTopology.build(), streamsConfig(args))) {
            streams.start();
            int idlePolls = 0;
            while (idlePolls < 3 && Instant.now().isBefore(deadline)) {
                Thread.sleep(2_000);
                final boolean running = streams.state() == KafkaStreams.State.RUNNING;
                idlePolls = running && lag(admin) == 0 ? idlePolls + 1 : 0;
            }
            System.out.println(tasks(streams));
            streams.close(Duration.ofSeconds(20));
            return idlePolls == 3;
        }
    }

    private static Properties streamsConfig(final String[] args) {
        final Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, APPLICATION_ID);
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        for (int i = 3; i < args.length; i++) {
            final String[] pair = args[i].split("=", 2);
            config.put(pair[0], pair[1]);
        }
        return config;
    }

    /** Returns the lag of the application, summed over every partition that its tasks read. */
    private static long lag(final Admin admin) throws ExecutionException, InterruptedException {
        final Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
        for (final TopicDescription topic : admin.describeTopics(topicsRead(admin)).allTopicNames().get().values()) {
            topic.partitions().forEach(
                partition -> latest.put(new TopicPartition(topic.name(), partition.partition()), OffsetSpec.latest()));
        }
        final Map<TopicPartition, OffsetAndMetadata> committed =
            admin.listConsumerGroupOffsets(APPLICATION_ID).partitionsToOffsetAndMetadata().get();
        final Map<TopicPartition, ListOffsetsResultInfo> ends = admin.listOffsets(latest).all().get();
        long lag = 0;
        for (final Map.Entry<TopicPartition, ListOffsetsResultInfo> end : ends.entrySet()) {
            final OffsetAndMetadata read = committed.get(end.getKey());
            lag += end.getValue().offset() - (read == null ? 0 : read.offset());
        }
        return lag;
    }

    /** Returns the topics of the cluster that are sources of tasks; internal topics start with the application id. */
    private static Set<String> topicsRead(final Admin admin) throws ExecutionException, InterruptedException {
        final Set<String> sources = new HashSet<>();
        for (final TopologyDescription.Subtopology subtopology : OrderTopology.build().describe().subtopologies()) {
            for (final TopologyDescription.Node node : subtopology.nodes()) {
                if (node instanceof TopologyDescription.Source source) {
                    sources.addAll(source.topicSet());
                    source.topicSet().forEach(topic -> sources.add(APPLICATION_ID + "-" + topic));
                }
            }
        }
        final Set<String> existing = admin.listTopics().names().get();
        sources.retainAll(existing);
        return sources;
    }

    /** Returns the number of active tasks by subtopology, such as {@code {0=48, 1=24}}. */
    private static Map<Integer, Long> tasks(final KafkaStreams streams) {
        return streams.metadataForLocalThreads().stream()
            .flatMap(thread -> thread.activeTasks().stream())
            .collect(Collectors.groupingBy(task -> task.taskId().subtopology(), TreeMap::new, Collectors.counting()));
    }

    private static Admin admin(final String bootstrapServers) {
        return Admin.create(Map.<String, Object>of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers));
    }
}
