package assignorsim.bridge.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One history of a group; the main program reads histories, one per line, and prints the log of each. */
abstract class Replay {
    static final String GROUP = "group";
    static final ObjectMapper JSON = new ObjectMapper();

    final JsonNode history;
    final VirtualClock clock;
    final ArrayNode log;
    /** What the records of the call that is handled say; it is logged after the call. */
    final List<ObjectNode> events;
    Coordinator coordinator;

    /**
     * Makes the replay of a history.
     *
     * @param whole what it is a part of, and has the clock and the log of; null if it is not a part.
     */
    Replay(final JsonNode history, final Replay whole) {
        this.history = history;
        clock = whole == null ? new VirtualClock() : whole.clock;
        log = whole == null ? JSON.createArrayNode() : whole.log;
        events = whole == null ? new ArrayList<>() : whole.events;
    }

    abstract Map<String, Object> brokerConfigs();

    abstract void happen(JsonNode event);

    abstract void onRecord(String type, Object key, Object value);

    abstract void afterTimer();

    public static void main(final String[] arguments) throws IOException {
        SeededRandom.install();
        final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            SeededRandom.restart();
            final JsonNode history = JSON.readTree(line);
            final Replay replay = switch (history.path("protocol").asText("streams")) {
                case "classic" -> new ClassicGroupReplay(history, null);
                case "both" -> ofStreams("MigrationReplay", history);
                default -> ofStreams("StreamsGroupReplay", history);
            };
            final ObjectNode answer = JSON.createObjectNode().put("id", history.get("id").asText());
            answer.set("log", replay.run());
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    /** Returns a replay with a streams group; releases before 4.1 have none, nor the classes that it needs. */
    private static Replay ofStreams(final String name, final JsonNode history) {
        try {
            return (Replay) Class.forName("assignorsim.bridge.replay." + name)
                .getDeclaredConstructor(JsonNode.class, Replay.class).newInstance(history, null);
        } catch (final ReflectiveOperationException error) {
            throw new IllegalArgumentException("this release has no streams groups: " + error, error);
        }
    }

    private ArrayNode run() {
        coordinator = new Coordinator(clock, brokerConfigs(), this::record, this::afterTimer);
        final Map<String, Integer> topics = new TreeMap<>();
        for (final JsonNode part : history.get("subtopologies")) {
            topics.put("source-" + part.get("id").asText(), part.get("partitions").asInt());
            if (part.get("stateful").asBoolean()) {
                topics.put("changelog-" + part.get("id").asText(), part.get("partitions").asInt());
            }
        }
        coordinator.setPartitions(topics);
        for (final JsonNode event : history.get("events")) {
            clock.at(event.get("at").asLong(), () -> happen(event));
        }
        clock.runUntil(history.get("duration_ms").asLong());
        return log;
    }

    private void record(final Object record) {
        final Object key = Coordinator.call(record, "key");
        final Object version = Coordinator.call(record, "value");
        final Object message = key.getClass().getSimpleName().equals("ApiMessageAndVersion") ? Coordinator.call(key, "message") : key;
        onRecord(message.getClass().getSimpleName(), message, version == null ? null : Coordinator.call(version, "message"));
    }

    int config(final String name, final int missing) {
        return history.get("config").path(name).asInt(missing);
    }

    JsonNode clientNode(final String name) {
        for (final JsonNode client : history.get("clients")) {
            if (client.get("name").asText().equals(name)) {
                return client;
            }
        }
        throw new IllegalArgumentException("unknown client " + name);
    }

    void later(final long delayMs, final Runnable action) {
        if (delayMs == 0) {
            action.run();
        } else {
            clock.in(delayMs, action);
        }
    }

    ObjectNode event(final String kind) {
        return JSON.createObjectNode().put("t", clock.milliseconds()).put("k", kind);
    }

    ObjectNode add(final String kind) {
        final ObjectNode event = event(kind);
        log.add(event);
        return event;
    }
}
