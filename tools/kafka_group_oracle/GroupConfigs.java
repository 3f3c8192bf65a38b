package assignorsim;

import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;

/**
 * Writes the configs of streams groups that a release defines, of brokers and of groups, as one JSON object by key.
 */
public final class GroupConfigs {

    private GroupConfigs() { }

    public static void main(final String[] args) throws Exception {
        final Map<String, ConfigDef.ConfigKey> keys = new TreeMap<>();
        collect(GroupCoordinatorConfig.class, "group.streams.", keys);
        collect(GroupConfig.class, "streams.", keys);
        final ObjectNode configs = JsonNodeFactory.instance.objectNode();
        keys.forEach((name, key) -> configs.putObject(name)
            .put("type", key.type.name())
            .put("default", ConfigDef.convertToString(key.defaultValue, key.type))
            .put("valid", key.validator == null ? null : key.validator.toString())
            .put("internal", key.internalConfig));
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        out.println(new ObjectMapper().writeValueAsString(configs));
        out.flush();
    }

    /** The fields with the definitions have other names and access modifiers in each release. */
    private static void collect(final Class<?> owner, final String prefix, final Map<String, ConfigDef.ConfigKey> keys)
            throws IllegalAccessException {
        for (final Field field : owner.getDeclaredFields()) {
            if (field.getType() == ConfigDef.class) {
                field.setAccessible(true);
                ((ConfigDef) field.get(null)).configKeys().forEach((name, key) -> {
                    if (name.startsWith(prefix)) {
                        keys.put(name, key);
                    }
                });
            }
        }
    }
}
