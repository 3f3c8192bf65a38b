package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import assignorsim.bridge.Stopwatch;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;

/** An assignor with Kafka's internal interface, with its input built as by {@code StreamsPartitionAssignor}. */
final class LegacyAdapter implements BridgedAssignor.Adapter {

    private final Class<? extends LegacyTaskAssignor> type;

    LegacyAdapter(final Class<? extends LegacyTaskAssignor> type) throws ReflectiveOperationException {
        this.type = type;
        BridgedAssignor.instantiate(type);
    }

    @Override
    public Map<String, Object> assign(final BridgeRequest request) {
        final AssignmentConfigs configs = request.configs();
        final Map<ProcessId, ClientState> clients = new HashMap<>();
        request.clients.forEach(client -> clients.put(client.id(), new ClientState(
            client.previousActive(), client.previousStandby(), client.lags(), client.tags(), client.threads(),
            client.id())));
        final Set<TaskId> tasks = new HashSet<>();
        final Set<TaskId> stateful = new HashSet<>();
        for (final BridgeRequest.Task task : request.tasks) {
            tasks.add(task.id());
            if (task.stateful()) {
                stateful.add(task.id());
            }
        }
        final RackAwareTaskAssignor rackAware = rackAware(request, configs);
        final LegacyTaskAssignor assignor = newAssignor();
        final Stopwatch stopwatch = new Stopwatch();
        final boolean probing = assignor.assign(clients, tasks, stateful, rackAware, configs);
        stopwatch.stop();
        final List<Object> entries = new ArrayList<>();
        clients.forEach((id, client) -> entries.add(BridgedAssignor.entry(
            id, client.activeTasks(), client.standbyTasks(), probing ? request.probingRebalanceIntervalMs() : null)));
        return BridgedAssignor.answer(entries, stopwatch);
    }

    private LegacyTaskAssignor newAssignor() {
        try {
            return BridgedAssignor.instantiate(type);
        } catch (final ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static RackAwareTaskAssignor rackAware(final BridgeRequest request, final AssignmentConfigs configs) {
        final Map<TaskId, Set<TopicPartition>> sources = new HashMap<>();
        final Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
        final Map<Subtopology, Set<TaskId>> subtopologies = new HashMap<>();
        for (final BridgeRequest.Task task : request.tasks) {
            sources.put(task.id(), task.sources());
            changelogs.put(task.id(), task.changelogs());
            subtopologies.computeIfAbsent(new Subtopology(task.id().subtopology(), null), key -> new HashSet<>())
                .add(task.id());
        }
        final Map<ProcessId, Map<String, Optional<String>>> racks = new HashMap<>();
        request.clients.forEach(client -> racks.put(client.id(), Map.of("consumer", client.rack())));
        final BridgeTopics topics = BridgeTopics.of(request.racks);
        return new RackAwareTaskAssignor(
            topics.metadata(request.tasks), sources, changelogs, subtopologies, racks, topics, configs, Time.SYSTEM);
    }
}
