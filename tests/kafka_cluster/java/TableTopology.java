package assignorsim;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;

/** One table: each partition of a topic is a stateful task whose store has every record of the partition. */
public final class TableTopology {

    private static final int BATCH_BYTES = 256 * 1024;

    private TableTopology() { }

    /**
     * Prints the topology ({@code describe TOPIC}), or creates and fills its topic
     * ({@code prepare BOOTSTRAP_SERVERS TOPIC PARTITIONS REPLICAS RECORDS VALUE_BYTES}).
     */
    public static void main(final String[] args) throws ExecutionException, InterruptedException {
        if (args.length == 2 && args[0].equals("describe")) {
            System.out.print(build(args[1]).describe());
        } else if (args.length == 7 && args[0].equals("prepare")) {
            final NewTopic topic = new NewTopic(args[2], Integer.parseInt(args[3]), Short.parseShort(args[4]));
            prepare(args[1], topic, Integer.parseInt(args[5]), Integer.parseInt(args[6]));
        } else {
            System.err.println(
                "usage: TableTopology describe TOPIC "
                    + "| TableTopology prepare BOOTSTRAP_SERVERS TOPIC PARTITIONS REPLICAS RECORDS VALUE_BYTES");
            System.exit(2);
        }
    }

    static Topology build(final String topic) {
        final StreamsBuilder builder = new StreamsBuilder();
        builder.table(
            topic,
            Consumed.with(Serdes.String(), Serdes.ByteArray()),
            Materialized.<String, byte[], KeyValueStore<Bytes, byte[]>>as("table")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.ByteArray()));
        return builder.build();
    }

    /** Writes records with distinct keys, round-robin, so that all tasks have the same amount of state. */
    private static void prepare(
        final String servers, final NewTopic topic, final int records, final int valueBytes
    ) throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.<String, Object>of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, servers))) {
            admin.createTopics(List.of(topic)).all().get();
        }
        final Map<String, Object> config = Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers,
            ProducerConfig.BATCH_SIZE_CONFIG, BATCH_BYTES,
            ProducerConfig.LINGER_MS_CONFIG, 20);
        final byte[] value = new byte[valueBytes];
        new Random(1).nextBytes(value);
        try (Producer<String, byte[]> producer =
                 new KafkaProducer<>(config, new StringSerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(topic.name(), i % topic.numPartitions(), "key-" + i, value));
            }
        }
    }
}
