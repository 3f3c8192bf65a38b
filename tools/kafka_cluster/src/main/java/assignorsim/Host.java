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
import java.util.stream.Collectors;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;

/**
 * A machine on which several click-counting applications run, each from a file of Kafka Streams configs.
 *
 * <p>Whenever the tasks of an application on this host change, it prints a line with six tab-separated fields: the time
 * in milliseconds, the application id, the state of the client, the number of running threads, the active tasks and the
 * standby tasks. On termination it closes its applications, which leave their groups.
 */
public final class Host {

    private static final Duration POLL_INTERVAL = Duration.ofMillis(100);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(15);

    private Host() { }

    /** Runs the applications of the given files until the process is terminated. */
    public static void main(final String[] files) throws IOException, InterruptedException {
        final Map<String, KafkaStreams> applications = new HashMap<>();
        for (final String file : files) {
            final Properties config = new Properties();
            try (InputStream text = Files.newInputStream(Path.of(file))) {
                config.load(text);
            }
            final String id = config.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
            applications.put(id, new KafkaStreams(ClickTopology.build(), config));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(applications.values()), "closer"));
        applications.values().forEach(KafkaStreams::start);
        final Map<String, String> printed = new HashMap<>();
        while (true) {
            applications.forEach((id, streams) -> printChange(id, streams, printed));
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

    private static String tasks(final Collection<TaskMetadata> tasks) {
        return tasks.stream().map(task -> task.taskId().toString()).sorted().collect(Collectors.joining(","));
    }

    private static void close(final Collection<KafkaStreams> applications) {
        final List<Thread> closers = new ArrayList<>();
        for (final KafkaStreams streams : applications) {
            // Up to 3.9 for static members only; other members leave because of internal.leave.group.on.close.
            final KafkaStreams.CloseOptions leaving =
                new KafkaStreams.CloseOptions().leaveGroup(true).timeout(CLOSE_TIMEOUT);
            final Thread closer = new Thread(() -> streams.close(leaving));
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
}
