package assignorsim.bridge.replay;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/**
 * A group with clients of both protocols, which each client states; the coordinator decides whom it refuses.
 *
 * <p>Events without a client are those of the streams group; members of both protocols see added partitions.
 */
final class MigrationReplay extends Replay {
    private final Replay classic = new ClassicGroupReplay(history, this);
    private final Replay streams = new StreamsGroupReplay(history, this);

    MigrationReplay(final JsonNode history, final Replay whole) {
        super(history, whole);
    }

    @Override
    Map<String, Object> brokerConfigs() {
        final Map<String, Object> configs = new HashMap<>(classic.brokerConfigs());
        configs.putAll(streams.brokerConfigs());
        return configs;
    }

    @Override
    void happen(final JsonNode event) {
        if (event.get("kind").asText().equals("partitions")) {
            of(classic).happen(event);
        }
        final boolean isClassic = event.has("client")
            && clientNode(event.get("client").asText()).path("protocol").asText().equals("classic");
        of(isClassic ? classic : streams).happen(event);
    }

    private Replay of(final Replay part) {
        part.coordinator = coordinator;
        return part;
    }

    @Override
    void onRecord(final String type, final Object key, final Object value) {
        streams.onRecord(type, key, value);
    }

    @Override
    void afterTimer() {
        of(classic).afterTimer();
        of(streams).afterTimer();
    }
}
