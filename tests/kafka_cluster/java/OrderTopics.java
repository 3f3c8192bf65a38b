package assignorsim;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** The topics of the order-processing application, and a small amount of skewed data for them. */
final class OrderTopics {

    static final String ORDERS = "orders";
    static final String PAGE_VIEWS = "page-views";
    static final String PAYMENTS = "payments";
    static final String CUSTOMERS = "customers";
    static final String STOCK_MOVEMENTS = "stock-movements";
    static final String SHIPMENTS = "shipments";
    static final String EXCHANGE_RATES = "exchange-rates";

    static final String ORDERS_REJECTED = "orders-rejected";
    static final String ORDERS_ENRICHED = "orders-enriched";
    static final String ORDERS_PAID = "orders-paid";
    static final String CUSTOMER_SPENDING = "customer-spending";
    static final String PRODUCT_DEMAND = "product-demand";
    static final String PAGE_POPULARITY = "page-popularity";
    static final String STOCK_ALERTS = "stock-alerts";
    static final String CUSTOMER_NOTIFICATIONS = "customer-notifications";

    static final List<String> CURRENCIES = List.of("EUR", "USD", "GBP", "JPY", "CHF", "SEK");

    private static final List<NewTopic> TOPICS = List.of(
        topic(ORDERS, 48, 3),
        topic(PAGE_VIEWS, 36, 1),
        topic(PAYMENTS, 24, 2),
        topic(CUSTOMERS, 24, 3).configs(Map.of("cleanup.policy", "compact")),
        topic(STOCK_MOVEMENTS, 12, 2),
        topic(SHIPMENTS, 6, 2),
        topic(EXCHANGE_RATES, 6, 3).configs(Map.of("cleanup.policy", "compact")),
        topic(ORDERS_REJECTED, 6, 1),
        topic(ORDERS_ENRICHED, 24, 3),
        topic(ORDERS_PAID, 24, 2),
        topic(CUSTOMER_SPENDING, 24, 3),
        topic(PRODUCT_DEMAND, 12, 2),
        topic(PAGE_POPULARITY, 12, 1),
        topic(STOCK_ALERTS, 6, 2),
        topic(CUSTOMER_NOTIFICATIONS, 6, 3));

    private static final long SEED = 20;
    private static final int NUM_CUSTOMERS = 2_000;
    private static final int NUM_PRODUCTS = 300;

    private OrderTopics() { }

    /** Creates every topic that Kafka Streams does not create itself; the controller places the replicas. */
    static void create(final Admin admin) throws ExecutionException, InterruptedException {
        admin.createTopics(TOPICS).all().get();
    }

    /** Writes the same records on every call: few customers, products and pages are much busier than the others. */
    static void fill(final String bootstrapServers) {
        // One request at a time: a new leader may reject the first batch of a partition and accept the second, after
        // which the first is permanently out of sequence.
        final Map<String, Object> config = Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers,
            ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 1,
            ProducerConfig.LINGER_MS_CONFIG, 50);
        try (Producer<String, String> producer =
                 new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            final Random random = new Random(SEED);
            for (int i = 0; i < CURRENCIES.size(); i++) {
                producer.send(new ProducerRecord<>(EXCHANGE_RATES, CURRENCIES.get(i), String.valueOf(1 + i * 0.25)));
            }
            for (int i = 0; i < NUM_CUSTOMERS; i++) {
                producer.send(new ProducerRecord<>(CUSTOMERS, "customer-" + i, text(random, 200)));
            }
            for (int i = 0; i < 30_000; i++) {
                sendOrder(producer, random, i);
            }
            for (int i = 0; i < 40_000; i++) {
                final String page = "/product/" + skewed(random, NUM_PRODUCTS);
                producer.send(new ProducerRecord<>(PAGE_VIEWS, page, text(random, 150)));
            }
            for (int i = 0; i < 8_000; i++) {
                final String product = "product-" + skewed(random, NUM_PRODUCTS);
                producer.send(new ProducerRecord<>(STOCK_MOVEMENTS, product, String.valueOf(random.nextInt(41) - 20)));
            }
        }
    }

    private static void sendOrder(final Producer<String, String> producer, final Random random, final int number) {
        final String order = "order-" + number;
        final String customer = "customer-" + skewed(random, NUM_CUSTOMERS);
        final int cents = random.nextInt(50_000) - 500;
        final String currency = CURRENCIES.get(skewed(random, CURRENCIES.size()));
        final String product = "product-" + skewed(random, NUM_PRODUCTS);
        final Order value = new Order(order, customer, product, cents, currency, text(random, 250));
        producer.send(new ProducerRecord<>(ORDERS, order, value.toText()));
        if (number % 2 == 0) {
            producer.send(new ProducerRecord<>(PAYMENTS, customer, order));
        }
        if (number % 5 == 0) {
            producer.send(new ProducerRecord<>(SHIPMENTS, order, customer));
        }
    }

    /** Returns a number in 0..bound-1 from a skewed distribution that prefers small numbers. */
    private static int skewed(final Random random, final int bound) {
        return (int) (bound * Math.pow(random.nextDouble(), 2));
    }

    private static String text(final Random random, final int length) {
        final StringBuilder letters = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            letters.append((char) ('a' + random.nextInt(26)));
        }
        return letters.toString();
    }

    private static NewTopic topic(final String name, final int partitions, final int replicationFactor) {
        return new NewTopic(name, partitions, (short) replicationFactor);
    }
}
