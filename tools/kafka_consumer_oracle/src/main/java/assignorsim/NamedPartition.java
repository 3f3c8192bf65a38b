package assignorsim;

import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;

/** A partition of a problem, such as {@code orders-3}. */
record NamedPartition(String topic, int partition) {

    static List<NamedPartition> listOf(final JsonNode names) {
        final List<NamedPartition> partitions = new ArrayList<>();
        names.forEach(name -> {
            final int dash = name.asText().lastIndexOf('-');
            final String topic = name.asText().substring(0, dash);
            partitions.add(new NamedPartition(topic, Integer.parseInt(name.asText().substring(dash + 1))));
        });
        return partitions;
    }

    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
