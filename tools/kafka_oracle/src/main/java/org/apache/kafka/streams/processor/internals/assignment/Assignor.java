package org.apache.kafka.streams.processor.internals.assignment;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;

/** One of Kafka's assignors. */
@FunctionalInterface
interface Assignor {

    /** Builds the assignor's input and calls it; only the call is timed. */
    Assigned assign(Problem problem, AssignmentConfigs configs, ListingOrder order);

    /** Returns the assignor with this name in problem files; other names are class names. */
    static Assignor named(final String name) {
        return switch (name) {
            case "ha", "high_availability" -> legacy(new HighAvailabilityTaskAssignor());
            case "sticky", "legacy_sticky" -> legacy(new LegacyStickyTaskAssignor());
            case "fallback_prior" -> legacy(new FallbackPriorTaskAssignor());
            case "sticky_public", "sticky_task_assignor" -> new Pluggable(new StickyTaskAssignor());
            default -> Pluggable.ofClass(name);
        };
    }

    /** Default cost of a partition in another rack. */
    static int defaultTrafficCost(final String name) {
        return switch (name) {
            case "ha", "high_availability" -> HighAvailabilityTaskAssignor.DEFAULT_HIGH_AVAILABILITY_TRAFFIC_COST;
            default -> StickyTaskAssignor.DEFAULT_STICKY_TRAFFIC_COST;
        };
    }

    private static Assignor legacy(final LegacyTaskAssignor assignor) {
        return (problem, configs, order) -> {
            final Map<ProcessId, ClientState> clients = order.newMap();
            problem.clients.forEach(client -> clients.put(client.id(), new ClientState(
                client.previousActive(), client.previousStandby(), client.lags(), client.tags(), client.threads(),
                client.id())));
            final Set<TaskId> tasks = order.newSet();
            final Set<TaskId> stateful = order.newSet();
            for (final Problem.Task task : problem.tasks) {
                tasks.add(task.id());
                if (task.stateful()) {
                    stateful.add(task.id());
                }
            }
            final RackAwareTaskAssignor rackAware = rackAware(problem, configs);
            final long started = System.nanoTime();
            final boolean probing = assignor.assign(clients, tasks, stateful, rackAware, configs);
            final long nanos = System.nanoTime() - started;
            return new Assigned(new TreeMap<>(clients), probing, nanos);
        };
    }

    /** Returns Kafka's rack-aware optimizer for the problem. */
    static RackAwareTaskAssignor rackAware(final Problem problem, final AssignmentConfigs configs) {
        final Map<TaskId, Set<TopicPartition>> sources = new HashMap<>();
        final Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
        final Map<Subtopology, Set<TaskId>> subtopologies = new HashMap<>();
        for (final Problem.Task task : problem.tasks) {
            sources.put(task.id(), task.sources());
            changelogs.put(task.id(), task.changelogs());
            subtopologies.computeIfAbsent(new Subtopology(task.id().subtopology(), null), key -> new HashSet<>())
                .add(task.id());
        }
        final Map<ProcessId, Map<String, Optional<String>>> clientRacks = new HashMap<>();
        problem.clients.forEach(client -> clientRacks.put(client.id(), Map.of("consumer", client.rack())));
        final KnownTopics topics = new KnownTopics(problem.racks);
        return new RackAwareTaskAssignor(
            topics.metadata(problem.tasks), sources, changelogs, subtopologies, clientRacks, topics, configs,
            Time.SYSTEM);
    }
}
