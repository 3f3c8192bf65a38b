package assignorsim;

import static assignorsim.OrderTopics.CUSTOMERS;
import static assignorsim.OrderTopics.CUSTOMER_NOTIFICATIONS;
import static assignorsim.OrderTopics.CUSTOMER_SPENDING;
import static assignorsim.OrderTopics.EXCHANGE_RATES;
import static assignorsim.OrderTopics.ORDERS;
import static assignorsim.OrderTopics.ORDERS_ENRICHED;
import static assignorsim.OrderTopics.ORDERS_PAID;
import static assignorsim.OrderTopics.ORDERS_REJECTED;
import static assignorsim.OrderTopics.PAGE_POPULARITY;
import static assignorsim.OrderTopics.PAGE_VIEWS;
import static assignorsim.OrderTopics.PAYMENTS;
import static assignorsim.OrderTopics.PRODUCT_DEMAND;
import static assignorsim.OrderTopics.SHIPMENTS;
import static assignorsim.OrderTopics.STOCK_ALERTS;
import static assignorsim.OrderTopics.STOCK_MOVEMENTS;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueStore;

/** An order-processing application: six subtopologies with tasks, stateless and stateful, and one global store. */
final class OrderTopology {

    private static final Serde<String> TEXT = Serdes.String();
    private static final Serde<Long> NUMBER = Serdes.Long();
    private static final long LOW_STOCK = -100;

    private OrderTopology() { }

    static Topology build() {
        final StreamsBuilder builder = new StreamsBuilder();
        final KStream<String, String> orders = pricedOrders(builder);
        customers(builder, orders);
        productDemand(orders);
        pagePopularity(builder);
        stockAlerts(builder);
        notifications(builder);
        return builder.build();
    }

    /** Stateless: drops invalid orders and converts the others with the global table of exchange rates. */
    private static KStream<String, String> pricedOrders(final StreamsBuilder builder) {
        final GlobalKTable<String, String> rates =
            builder.globalTable(EXCHANGE_RATES, Consumed.with(TEXT, TEXT), Materialized.as("exchange-rates-store"));
        final KStream<String, String> orders = builder.stream(ORDERS, Consumed.with(TEXT, TEXT));
        orders.filterNot((key, value) -> Order.parse(value).isValid()).to(ORDERS_REJECTED, Produced.with(TEXT, TEXT));
        return orders.filter((key, value) -> Order.parse(value).isValid())
            .leftJoin(
                rates,
                (key, value) -> Order.parse(value).currency(),
                (value, rate) -> Order.parse(value).priced(rate).toText());
    }

    /** Stateful: a stream-table join, a windowed stream-stream join and an aggregate, all partitioned by customer. */
    private static void customers(final StreamsBuilder builder, final KStream<String, String> orders) {
        final KTable<String, String> customers =
            builder.table(CUSTOMERS, Consumed.with(TEXT, TEXT), Materialized.as("customers-store"));
        final KStream<String, String> payments = builder.stream(PAYMENTS, Consumed.with(TEXT, TEXT));
        final KStream<String, String> byCustomer = orders
            .selectKey((key, value) -> Order.parse(value).customer())
            .repartition(Repartitioned.with(TEXT, TEXT).withName("orders-by-customer").withNumberOfPartitions(24));

        byCustomer.join(customers, (order, customer) -> order + "," + customer)
            .to(ORDERS_ENRICHED, Produced.with(TEXT, TEXT));
        byCustomer.join(
                payments,
                (order, payment) -> Order.parse(order).id().equals(payment) ? payment : null,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMinutes(10), Duration.ofMinutes(1)),
                StreamJoined.with(TEXT, TEXT, TEXT).withName("orders-paid").withStoreName("orders-paid"))
            .filter((customer, payment) -> payment != null)
            .to(ORDERS_PAID, Produced.with(TEXT, TEXT));
        byCustomer.groupByKey(Grouped.with(TEXT, TEXT))
            .aggregate(
                () -> 0L,
                (key, value, sum) -> sum + Order.parse(value).cents(),
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("customer-spending-store")
                    .withKeySerde(TEXT).withValueSerde(NUMBER))
            .toStream()
            .to(CUSTOMER_SPENDING, Produced.with(TEXT, NUMBER));
    }

    /** Stateful: orders per product and hour; its repartition topic takes its partition count from the orders. */
    private static void productDemand(final KStream<String, String> orders) {
        orders.groupBy((key, value) -> Order.parse(value).product(), Grouped.with("orders-by-product", TEXT, TEXT))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofHours(1), Duration.ofMinutes(10)))
            .count(Materialized.as("product-demand-store"))
            .toStream((window, count) -> window.key())
            .to(PRODUCT_DEMAND, Produced.with(TEXT, NUMBER));
    }

    /** Stateful: views per page and five minutes, counted without repartitioning. */
    private static void pagePopularity(final StreamsBuilder builder) {
        builder.stream(PAGE_VIEWS, Consumed.with(TEXT, TEXT))
            .groupByKey(Grouped.with(TEXT, TEXT))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(5), Duration.ofMinutes(1)))
            .count(Materialized.as("page-popularity-store"))
            .toStream((window, count) -> window.key())
            .to(PAGE_POPULARITY, Produced.with(TEXT, NUMBER));
    }

    /** Stateful: the stock of every product, and an alert when it runs low. */
    private static void stockAlerts(final StreamsBuilder builder) {
        builder.stream(STOCK_MOVEMENTS, Consumed.with(TEXT, TEXT))
            .mapValues(value -> Long.parseLong(value))
            .groupByKey(Grouped.with(TEXT, NUMBER))
            .reduce(Long::sum, Materialized.as("stock-levels-store"))
            .toStream()
            .filter((product, level) -> level < LOW_STOCK)
            .to(STOCK_ALERTS, Produced.with(TEXT, NUMBER));
    }

    /** Has a store but is stateless to an assignor: the store has no changelog to restore from. */
    private static void notifications(final StreamsBuilder builder) {
        builder.stream(SHIPMENTS, Consumed.with(TEXT, TEXT))
            .process(new FirstOfEachKey("notified-shipments-store"))
            .mapValues(customer -> "Your order is on its way, " + customer)
            .to(CUSTOMER_NOTIFICATIONS, Produced.with(TEXT, TEXT));
    }
}
