package assignorsim;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;

/**
 * A machine on which several applications run, each from a file of Kafka Streams configs.
 *
 * <p>Whenever the tasks of an application on this host change, it prints a line with six tab-separated fields: the time
 * in milliseconds, the application id, the state of the client, the number of running threads, the active tasks and the
 * standby tasks. Whenever its restore consumers have read more, it prints a line with five fields: the time, the
 * application id, {@code restored}, the changelog and the records read from it since the start, by the clients' metrics.
 *
 * <p>On termination it closes its applications: with {@code close=leave} they leave their groups, with
 * {@code close=default} they do what {@code KafkaStreams.close(Duration)} does.
 */
public final class Host {

    /** Config of an application, not of Kafka: the topic of {@link TableTopology}; without it, {@link ClickTopology}. */
    private static final String TABLE = "assignorsim.table";
    /** Config of an application, not of Kafka: how it closes, {@code leave} or {@code default}. */
    private static final String CLOSE = "assignorsim.close";

    private static final Duration POLL_INTERVAL = Duration.ofMillis(100);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

    private Host() { }

    /** Runs the applications of the given files until the process is terminated. */
    public static void main(final String[] files) throws IOException, InterruptedException {
        final Map<String, KafkaStreams> applications = new HashMap<>();
        final List<KafkaStreams> leaving = new ArrayList<>();
        for (final String file : files) {
            final Properties config = new Properties();
            try (InputStream text = Files.newInputStream(Path.of(file))) {
                config.load(text);
            }
            final String id = config.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
            final Object table = config.remove(TABLE);
            final Object close = config.remove(CLOSE);
            final Topology topology = table == null ? ClickTopology.build() : TableTopology.build(table.toString());
            final KafkaStreams streams = new KafkaStreams(topology, config);
            applications.put(id, streams);
            if ("leave".equals(close)) {
                leaving.add(streams);
            }
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(applications.values(), leaving), "closer"));
        applications.values().forEach(KafkaStreams::start);
        final Map<String, String> printed = new HashMap<>();
        final Map<String, Long> printedRestored = new HashMap<>();
        while (true) {
            applications.forEach((id, streams) -> printChange(id, streams, printed));
            applications.forEach((id, streams) -> printRestored(id, streams, printedRestored));
            Thread.sleep(POLL_INTERVAL.toMillis());
        }
    }

    /** Prints the tasks of an application if they differ from the ones printed last. */
    private static void printChange(
        final String id, final KafkaStreams streams, final Map<String, String> printed
    ) {
        final Collection<ThreadMetadata> threads = streams.metadataForLocalThreads();
        final long running = threads.stream().filter(thread -> thread.threadState().equals("RUNNING")).count();
        final String now = String.join(
            "\t",
            streams.state().toString(),
            String.valueOf(running),
            tasks(threads.stream().flatMap(thread -> thread.activeTasks().stream()).toList()),
            tasks(threads.stream().flatMap(thread -> thread.standbyTasks().stream()).toList()));
        if (!now.equals(printed.put(id, now))) {
            System.out.println(System.currentTimeMillis() + "\t" + id + "\t" + now);
        }
    }

    /** Prints the records that restore consumers have read, by changelog, if they are more than printed last. */
    private static void printRestored(
        final String id, final KafkaStreams streams, final Map<String, Long> printed
    ) {
        final Map<String, Long> restored = new TreeMap<>();
        for (final Metric metric : streams.metrics().values()) {
            final MetricName name = metric.metricName();
            final String topic = name.tags().get("topic");
            final String client = name.tags().getOrDefault("client-id", "");
            if (topic != null && name.name().equals("records-consumed-total") && client.endsWith("-restore-consumer")) {
                restored.merge(topic, ((Number) metric.metricValue()).longValue(), Long::sum);
            }
        }
        restored.forEach((topic, records) -> {
            if (!records.equals(printed.put(id + topic, records))) {
                System.out.println(
                    String.join("\t", String.valueOf(System.currentTimeMillis()), id, "restored", topic, "" + records));
            }
        });
    }

    private static String tasks(final Collection<TaskMetadata> tasks) {
        return tasks.stream().map(task -> task.taskId().toString()).sorted().collect(Collectors.joining(","));
    }

    private static void close(final Collection<KafkaStreams> applications, final Collection<KafkaStreams> leaving) {
        final List<Thread> closers = new ArrayList<>();
        for (final KafkaStreams streams : applications) {
            final Thread closer = new Thread(() -> close(streams, leaving.contains(streams)));
            closer.start();
            closers.add(closer);
        }
        for (final Thread closer : closers) {
            try {
                closer.join();
            } catch (final InterruptedException interrupted) {
                return;
            }
        }
    }

    private static void close(final KafkaStreams streams, final boolean leaves) {
        if (leaves) {
            // Up to 4.1 for static members only; other members leave because of internal.leave.group.on.close.
            streams.close(new KafkaStreams.CloseOptions().leaveGroup(true).timeout(CLOSE_TIMEOUT));
        } else {
            streams.close(CLOSE_TIMEOUT);
        }
    }
}
