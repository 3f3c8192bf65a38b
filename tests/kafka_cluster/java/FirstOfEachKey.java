package assignorsim;

import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Forwards the first record of each key; stores the keys in memory only, without a changelog. */
record FirstOfEachKey(String storeName) implements ProcessorSupplier<String, String, String, String> {

    @Override
    public Set<StoreBuilder<?>> stores() {
        return Set.of(
            Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(storeName), Serdes.String(), Serdes.String())
                .withLoggingDisabled());
    }

    @Override
    public Processor<String, String, String, String> get() {
        return new ContextualProcessor<>() {
            private KeyValueStore<String, String> seen;

            @Override
            public void init(final ProcessorContext<String, String> context) {
                super.init(context);
                seen = context.getStateStore(storeName);
            }

            @Override
            public void process(final Record<String, String> record) {
                if (seen.putIfAbsent(record.key(), record.value()) == null) {
                    context().forward(record);
                }
            }
        };
    }
}
