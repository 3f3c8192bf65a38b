package assignorsim;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Plain consumers, each in a thread of its own, which start and close at given times.
 *
 * <p>Whenever a consumer gets or loses partitions, or its generation (member epoch) changes, it prints a line with six
 * tab-separated fields: the time in milliseconds, its name, what happened ({@code assigned}, {@code revoked},
 * {@code lost} or {@code generation}), its member id, its generation, and the partitions concerned; for
 * {@code generation}, all partitions that it owns.
 */
public final class Consumers {

    /** Configs of a consumer, not of Kafka: its name, its topics, and when it starts and closes, in ms of the plan. */
    private static final String PREFIX = "assignorsim.";
    private static final Duration POLL = Duration.ofMillis(50);
    private static final Duration WARM_UP = Duration.ofSeconds(20);
    private static final long NEVER = Long.MAX_VALUE;

    private Consumers() { }

    /**
     * Runs consumers until all have closed, or the process is terminated.
     *
     * @param arguments a file that another process creates, with the time at which the plan starts; then a file of
     *     configs for each consumer
     */
    public static void main(final String[] arguments) throws Exception {
        final Path start = Path.of(arguments[0]);
        final List<Properties> configs = new ArrayList<>();
        for (final String file : List.of(arguments).subList(1, arguments.length)) {
            final Properties config = new Properties();
            try (InputStream text = Files.newInputStream(Path.of(file))) {
                config.load(text);
            }
            config.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
            config.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
            warmUp(config);
            configs.add(config);
        }
        System.out.println("ready");
        while (!Files.exists(start)) {
            Thread.sleep(POLL.toMillis());
        }
        final long startMs = Long.parseLong(Files.readString(start).strip());
        final List<Thread> threads = new ArrayList<>();
        for (final Properties config : configs) {
            final Thread thread = new Thread(() -> run(config, startMs));
            thread.start();
            threads.add(thread);
        }
        for (final Thread thread : threads) {
            thread.join();
        }
    }

    /** Loads the classes of a consumer, so that it joins at once when it starts: it joins a group of its own. */
    private static void warmUp(final Properties config) {
        final Properties own = new Properties();
        config.forEach((key, value) -> {
            if (!key.toString().startsWith(PREFIX)) {
                own.put(key, value);
            }
        });
        own.put(ConsumerConfig.GROUP_ID_CONFIG, "warm-up-" + config.get(PREFIX + "name").toString().replace(' ', '-'));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(own)) {
            consumer.subscribe(List.of(config.get(PREFIX + "topics").toString().split(",")));
            final long endMs = System.currentTimeMillis() + WARM_UP.toMillis();
            while (consumer.assignment().isEmpty() && System.currentTimeMillis() < endMs) {
                consumer.poll(POLL);
            }
        }
    }

    private static void run(final Properties config, final long startMs) {
        final String name = config.remove(PREFIX + "name").toString();
        final List<String> topics = List.of(config.remove(PREFIX + "topics").toString().split(","));
        final long startsMs = startMs + Long.parseLong(config.remove(PREFIX + "starts").toString());
        final Object closes = config.remove(PREFIX + "closes");
        final long closesMs = closes == null ? NEVER : startMs + Long.parseLong(closes.toString());
        sleepUntil(startsMs);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(topics, new Printer(name, consumer));
            String last = "";
            while (System.currentTimeMillis() < closesMs) {
                consumer.poll(POLL);
                final String now = consumer.groupMetadata().generationId() + partitions(consumer.assignment());
                if (!now.equals(last)) {
                    print(name, "generation", consumer, consumer.assignment());
                    last = now;
                }
            }
        }
    }

    private static void sleepUntil(final long atMs) {
        try {
            Thread.sleep(Math.max(0, atMs - System.currentTimeMillis()));
        } catch (final InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static void print(
        final String name, final String what, final KafkaConsumer<?, ?> consumer, final Collection<TopicPartition> which
    ) {
        System.out.println(String.join(
            "\t",
            String.valueOf(System.currentTimeMillis()),
            name,
            what,
            consumer.groupMetadata().memberId(),
            String.valueOf(consumer.groupMetadata().generationId()),
            partitions(Set.copyOf(which))));
    }

    private static String partitions(final Set<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(","));
    }

    /** Prints the partitions that a consumer gets and loses. */
    private record Printer(String name, KafkaConsumer<?, ?> consumer) implements ConsumerRebalanceListener {

        @Override
        public void onPartitionsAssigned(final Collection<TopicPartition> partitions) {
            print(name, "assigned", consumer, partitions);
        }

        @Override
        public void onPartitionsRevoked(final Collection<TopicPartition> partitions) {
            print(name, "revoked", consumer, partitions);
        }

        @Override
        public void onPartitionsLost(final Collection<TopicPartition> partitions) {
            print(name, "lost", consumer, partitions);
        }
    }
}
