package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/** One line of a problem file (docs/reference/problems.md). */
final class Problem {

    /** A task with its source and changelog partitions. */
    record Task(TaskId id, boolean stateful, Set<TopicPartition> sources, Set<TopicPartition> changelogs) { }

    /** A process with its previous tasks; {@code lags} are the results of {@link ClientState#lagFor}. */
    record Client(
        ProcessId id,
        Optional<String> rack,
        int threads,
        Map<String, String> tags,
        Set<TaskId> previousActive,
        Set<TaskId> previousStandby,
        Map<TaskId, Long> lags
    ) { }

    final String id;
    final String assignor;
    final List<Task> tasks = new ArrayList<>();
    final List<Client> clients = new ArrayList<>();

    /** Rack of each replica in replica order, null if the broker has none; unknown partitions are omitted. */
    final Map<TopicPartition, List<String>> racks = new HashMap<>();

    private final JsonNode configs;

    Problem(final JsonNode json) {
        id = json.path("id").asText();
        assignor = json.required("assignor").asText();
        configs = json.path("configs");
        json.required("tasks").forEach(task -> tasks.add(new Task(
            TaskId.parse(task.required("id").asText()),
            task.required("stateful").asBoolean(),
            partitions(task.path("source_partitions")),
            partitions(task.path("changelog_partitions"))
        )));
        json.required("clients").forEach(client -> clients.add(client(client)));
        json.path("partition_racks").fields().forEachRemaining(entry -> {
            final List<String> replicas = new ArrayList<>();
            entry.getValue().forEach(rack -> replicas.add(rack.textValue()));
            racks.put(partition(entry.getKey()), replicas);
        });
    }

    /** @throws org.apache.kafka.common.config.ConfigException Kafka rejects a value. */
    AssignmentConfigs configs() {
        final List<String> tags = new ArrayList<>();
        configs.path("rack_aware_assignment_tags").forEach(tag -> tags.add(tag.asText()));
        return new AssignmentConfigs(
            configs.path("acceptable_recovery_lag").asLong(10_000L),
            configs.path("max_warmup_replicas").asInt(2),
            configs.path("num_standby_replicas").asInt(0),
            configs.path("probing_rebalance_interval_ms").asLong(600_000L),
            tags,
            optionalInt(configs.path("rack_aware_traffic_cost")),
            optionalInt(configs.path("rack_aware_non_overlap_cost")),
            configs.path("rack_aware_assignment_strategy").asText("none")
        );
    }

    private static Client client(final JsonNode json) {
        final Map<String, String> tags = new LinkedHashMap<>();
        json.path("tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
        final Map<TaskId, Long> lags = new HashMap<>();
        json.path("task_lags").fields().forEachRemaining(
            lag -> lags.put(TaskId.parse(lag.getKey()), lag.getValue().longValue()));
        return new Client(
            new ProcessId(UUID.fromString(json.required("process_id").asText())),
            Optional.ofNullable(json.path("rack").textValue()),
            json.path("threads").asInt(1),
            tags,
            taskIds(json.path("previous_active")),
            taskIds(json.path("previous_standby")),
            lags
        );
    }

    private static Set<TaskId> taskIds(final JsonNode names) {
        final Set<TaskId> ids = new LinkedHashSet<>();
        names.forEach(name -> ids.add(TaskId.parse(name.asText())));
        return ids;
    }

    private static Set<TopicPartition> partitions(final JsonNode names) {
        final Set<TopicPartition> partitions = new LinkedHashSet<>();
        names.forEach(name -> partitions.add(partition(name.asText())));
        return partitions;
    }

    private static TopicPartition partition(final String name) {
        final int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private static OptionalInt optionalInt(final JsonNode value) {
        return value.isNumber() ? OptionalInt.of(value.intValue()) : OptionalInt.empty();
    }
}
