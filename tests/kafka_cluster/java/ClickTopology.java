package assignorsim;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.state.KeyValueStore;

/** Counts clicks per page: 26 tasks in four subtopologies; 14 tasks are stateful, six tasks have two stores. */
public final class ClickTopology {

    private static final String CLICKS = "clicks";
    private static final String PAGES = "pages";
    private static final String ALARMS = "alarms";
    private static final String COUNTS = "page-counts";
    private static final String ALARMS_SEEN = "alarms-seen";

    private static final List<NewTopic> TOPICS = List.of(
        topic(CLICKS, 8), topic(PAGES, 6), topic(ALARMS, 4), topic(COUNTS, 4), topic(ALARMS_SEEN, 4));

    private static final Serde<String> TEXT = Serdes.String();
    private static final Serde<Long> NUMBER = Serdes.Long();

    private ClickTopology() { }

    /** Prints the topology ({@code describe}) or creates its topics ({@code prepare BOOTSTRAP_SERVERS RECORDS}). */
    public static void main(final String[] args) throws ExecutionException, InterruptedException {
        if (args.length == 1 && args[0].equals("describe")) {
            System.out.print(build().describe());
        } else if (args.length == 3 && args[0].equals("prepare")) {
            prepare(args[1], Integer.parseInt(args[2]));
        } else {
            System.err.println("usage: ClickTopology describe | ClickTopology prepare BOOTSTRAP_SERVERS RECORDS");
            System.exit(2);
        }
    }

    static Topology build() {
        final StreamsBuilder builder = new StreamsBuilder();
        builder.stream(CLICKS, Consumed.with(TEXT, TEXT))
            .filter((click, page) -> !page.isEmpty())
            .selectKey((click, page) -> page)
            .repartition(Repartitioned.with(TEXT, TEXT).withName("clicks-by-page").withNumberOfPartitions(8))
            .groupByKey(Grouped.with(TEXT, TEXT))
            .count(store("click-counts"))
            .toStream()
            .to(COUNTS, Produced.with(TEXT, NUMBER));
        final KTable<String, String> pages = builder.table(
            PAGES,
            Consumed.with(TEXT, TEXT),
            Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("pages-store")
                .withKeySerde(TEXT).withValueSerde(TEXT));
        pages.toStream().groupByKey(Grouped.with(TEXT, TEXT)).count(store("page-changes"));
        builder.stream(ALARMS, Consumed.with(TEXT, TEXT)).to(ALARMS_SEEN, Produced.with(TEXT, TEXT));
        return builder.build();
    }

    private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> store(final String name) {
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(name)
            .withKeySerde(TEXT).withValueSerde(NUMBER);
    }

    private static void prepare(final String servers, final int records)
            throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.<String, Object>of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, servers))) {
            admin.createTopics(TOPICS).all().get();
        }
        // One request at a time: see OrderTopics.
        final Map<String, Object> config = Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers,
            ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 1,
            ProducerConfig.LINGER_MS_CONFIG, 20);
        try (Producer<String, String> producer =
                 new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(CLICKS, "click-" + i, "/page/" + i % 97));
                producer.send(new ProducerRecord<>(PAGES, "/page/" + i % 97, "version " + i));
                producer.send(new ProducerRecord<>(ALARMS, "alarm-" + i, "it rings"));
            }
        }
    }

    private static NewTopic topic(final String name, final int partitions) {
        return new NewTopic(name, partitions, (short) 1);
    }
}
