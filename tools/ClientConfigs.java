import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.StreamsConfig;

/** Prints the names of the configs of Kafka Streams and its clients, one line per class: the class, then the names. */
public final class ClientConfigs {
    private ClientConfigs() {
    }

    public static void main(final String[] arguments) throws IllegalAccessException {
        final Map<String, Set<String>> names = new TreeMap<>();
        final Set<String> streams = new TreeSet<>(StreamsConfig.configDef().names());
        for (final Field field : StreamsConfig.InternalConfig.class.getFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
                streams.add((String) field.get(null));
            }
        }
        names.put("streams", streams);
        names.put("consumer", ConsumerConfig.configNames());
        names.put("producer", ProducerConfig.configNames());
        names.put("admin", AdminClientConfig.configNames());
        final Set<String> topic = new TreeSet<>();
        for (final Field field : TopicConfig.class.getFields()) {
            if (field.getName().endsWith("_CONFIG")) {
                topic.add((String) field.get(null));
            }
        }
        names.put("topic", topic);
        names.forEach((name, keys) -> System.out.println(name + " " + String.join(" ", new TreeSet<>(keys))));
    }
}
