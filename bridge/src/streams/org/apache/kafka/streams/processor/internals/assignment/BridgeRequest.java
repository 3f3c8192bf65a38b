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

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/** The state of an application in a request: columns along tasks, partitions and clients. */
@SuppressWarnings("unchecked")
final class BridgeRequest {

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

    private static final long NO_LAG = Long.MIN_VALUE;

    /** Tasks and clients in the order in which a group leader lists them. */
    final List<Task> tasks = new ArrayList<>();
    final List<Client> clients = new ArrayList<>();

    /** Racks of each partition's replicas, null for a broker without one; unknown partitions are omitted. */
    final Map<TopicPartition, List<String>> racks = new HashMap<>();

    private final Map<String, Object> configs;
    private final Map<String, TaskId> ids = new HashMap<>();

    BridgeRequest(final Map<String, Object> request) {
        configs = (Map<String, Object>) request.get("configs");
        final List<TopicPartition> partitions = readPartitions((Map<String, List<Object>>) request.get("partitions"));
        final Map<String, List<Object>> taskColumns = (Map<String, List<Object>>) request.get("tasks");
        final List<Task> sorted = readTasks(taskColumns, partitions);
        taskColumns.get("order").forEach(row -> tasks.add(sorted.get(((Long) row).intValue())));
        readClients((Map<String, List<Object>>) request.get("clients"), sorted);
    }

    /** @throws org.apache.kafka.common.config.ConfigException Kafka rejects a value. */
    AssignmentConfigs configs() {
        return new AssignmentConfigs(
            (Long) configs.get("acceptable_recovery_lag"),
            integer("max_warmup_replicas").getAsInt(),
            integer("num_standby_replicas").getAsInt(),
            (Long) configs.get("probing_rebalance_interval_ms"),
            (List<String>) configs.get("rack_aware_assignment_tags"),
            integer("rack_aware_traffic_cost"),
            integer("rack_aware_non_overlap_cost"),
            (String) configs.get("rack_aware_assignment_strategy")
        );
    }

    long probingRebalanceIntervalMs() {
        return (Long) configs.get("probing_rebalance_interval_ms");
    }

    /** Returns the configs by Kafka's keys, as far as they are known, for {@code Configurable} assignors. */
    Map<String, Object> clientConfigs() {
        final Map<String, Object> byKey = new HashMap<>();
        byKey.put("acceptable.recovery.lag", configs.get("acceptable_recovery_lag"));
        byKey.put("max.warmup.replicas", integer("max_warmup_replicas").getAsInt());
        byKey.put("num.standby.replicas", integer("num_standby_replicas").getAsInt());
        byKey.put("probing.rebalance.interval.ms", probingRebalanceIntervalMs());
        byKey.put("rack.aware.assignment.tags", configs.get("rack_aware_assignment_tags"));
        byKey.put("rack.aware.assignment.strategy", configs.get("rack_aware_assignment_strategy"));
        integer("rack_aware_traffic_cost").ifPresent(cost -> byKey.put("rack.aware.assignment.traffic_cost", cost));
        integer("rack_aware_non_overlap_cost")
            .ifPresent(cost -> byKey.put("rack.aware.assignment.non_overlap_cost", cost));
        return byKey;
    }

    private OptionalInt integer(final String name) {
        final Long value = (Long) configs.get(name);
        return value == null ? OptionalInt.empty() : OptionalInt.of(value.intValue());
    }

    private List<TopicPartition> readPartitions(final Map<String, List<Object>> columns) {
        final List<TopicPartition> partitions = new ArrayList<>();
        final List<Object> topics = columns.get("topics");
        for (int row = 0; row < topics.size(); row++) {
            final int number = ((Long) columns.get("numbers").get(row)).intValue();
            final TopicPartition partition = new TopicPartition((String) topics.get(row), number);
            partitions.add(partition);
            final List<String> replicas = (List<String>) columns.get("racks").get(row);
            if (replicas != null) {
                racks.put(partition, replicas);
            }
        }
        return partitions;
    }

    private List<Task> readTasks(final Map<String, List<Object>> columns, final List<TopicPartition> partitions) {
        final List<Task> sorted = new ArrayList<>();
        for (int row = 0; row < columns.get("ids").size(); row++) {
            sorted.add(new Task(
                id((String) columns.get("ids").get(row)),
                (Boolean) columns.get("stateful").get(row),
                select(partitions, columns.get("sources").get(row)),
                select(partitions, columns.get("changelogs").get(row))
            ));
        }
        return sorted;
    }

    private void readClients(final Map<String, List<Object>> columns, final List<Task> sorted) {
        for (final Object listed : columns.get("order")) {
            final int row = ((Long) listed).intValue();
            final List<Long> column = (List<Long>) columns.get("lags").get(row);
            final Map<TaskId, Long> lags = new HashMap<>();
            for (int i = 0; i < column.size(); i++) {
                if (column.get(i) != NO_LAG) {
                    lags.put(sorted.get(((Long) columns.get("lag_rows").get(i)).intValue()).id(), column.get(i));
                }
            }
            clients.add(new Client(
                new ProcessId(UUID.fromString((String) columns.get("ids").get(row))),
                Optional.ofNullable((String) columns.get("racks").get(row)),
                ((Long) columns.get("threads").get(row)).intValue(),
                new LinkedHashMap<>((Map<String, String>) columns.get("tags").get(row)),
                ids(columns.get("previous_active").get(row)),
                ids(columns.get("previous_standby").get(row)),
                lags
            ));
        }
    }

    private TaskId id(final String name) {
        return ids.computeIfAbsent(name, TaskId::parse);
    }

    private Set<TaskId> ids(final Object names) {
        final Set<TaskId> selected = new LinkedHashSet<>();
        ((List<String>) names).forEach(name -> selected.add(id(name)));
        return selected;
    }

    private static Set<TopicPartition> select(final List<TopicPartition> partitions, final Object rows) {
        final Set<TopicPartition> selected = new LinkedHashSet<>();
        ((List<Long>) rows).forEach(row -> selected.add(partitions.get(row.intValue())));
        return selected;
    }
}
