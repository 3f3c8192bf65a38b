package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import assignorsim.bridge.Stopwatch;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.internals.BridgeClients;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;

/** An assignor of KIP-924, with an application state built as by {@code StreamsPartitionAssignor}. */
final class PluggableAdapter implements BridgedAssignor.Adapter {

    private static final String CONSUMER = "consumer";

    private final Class<? extends TaskAssignor> type;

    PluggableAdapter(final Class<? extends TaskAssignor> type) throws ReflectiveOperationException {
        this.type = type;
        BridgedAssignor.instantiate(type);
    }

    @Override
    public Map<String, Object> assign(final BridgeRequest request) {
        final ApplicationState state = applicationState(request);
        final TaskAssignor assignor = newAssignor(request);
        final long before = System.currentTimeMillis();
        final Stopwatch stopwatch = new Stopwatch();
        final TaskAssignment assignment = assignor.assign(state);
        stopwatch.stop();
        final long after = System.currentTimeMillis();
        if (assignment == null) {
            throw new NullPointerException("assign returned null");
        }
        final List<Object> entries = new ArrayList<>();
        for (final KafkaStreamsAssignment given : assignment.assignment()) {
            final List<TaskId> active = new ArrayList<>();
            final List<TaskId> standby = new ArrayList<>();
            for (final AssignedTask task : given.tasks().values()) {
                (task.type() == AssignedTask.Type.ACTIVE ? active : standby).add(task.id());
            }
            final Long delayMs = given.followupRebalanceDeadline()
                .map(deadline -> FollowupDelay.of(deadline, before, after, request.probingRebalanceIntervalMs()))
                .orElse(null);
            entries.add(BridgedAssignor.entry(given.processId(), active, standby, delayMs));
        }
        return BridgedAssignor.answer(entries, stopwatch);
    }

    /** Returns a new assignor, as Kafka creates one for each rebalance. */
    private TaskAssignor newAssignor(final BridgeRequest request) {
        try {
            final TaskAssignor assignor = BridgedAssignor.instantiate(type);
            assignor.configure(request.clientConfigs());
            return assignor;
        } catch (final ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static ApplicationState applicationState(final BridgeRequest request) {
        final AssignmentConfigs configs = request.configs();
        final Map<ProcessId, ClientMetadata> clients = new HashMap<>();
        for (final BridgeRequest.Client client : request.clients) {
            final ClientMetadata metadata = BridgeClients.join(client.id(), client.tags(), client.rack());
            for (int thread = 0; thread < client.threads(); thread++) {
                metadata.state().incrementCapacity();
            }
            metadata.state().addPreviousActiveTasks(client.previousActive());
            metadata.state().addPreviousStandbyTasks(client.previousStandby());
            setLags(client, metadata.state());
            clients.put(client.id(), metadata);
        }
        return new DefaultApplicationState(configs, tasks(request), clients);
    }

    /** Sets the lags of a client state through offsets and end offsets, as after the subscriptions of its members. */
    private static void setLags(final BridgeRequest.Client client, final ClientState state) {
        final Map<TaskId, Long> offsets = new HashMap<>();
        final Map<TaskId, Long> ends = new HashMap<>();
        client.lags().forEach((task, lag) -> {
            ends.put(task, Math.max(lag, 0L));
            if (lag < 0 || client.previousActive().contains(task) || client.previousStandby().contains(task)) {
                offsets.put(task, Math.min(lag, 0L));
            }
        });
        state.addPreviousTasksAndOffsetSums(CONSUMER, offsets);
        state.computeTaskLags(client.id(), ends);
    }

    private static Map<TaskId, TaskInfo> tasks(final BridgeRequest request) {
        final BridgeTopics topics = BridgeTopics.of(request.racks);
        final Cluster metadata = topics.metadata(request.tasks);
        final Set<DefaultTaskTopicPartition> all = new HashSet<>();
        final Runnable annotate = new Once(() ->
            RackUtils.annotateTopicPartitionsWithRackInfo(metadata, topics, all));
        final TreeSet<TaskId> withChangelog = new TreeSet<>();
        request.tasks.stream().filter(task -> !task.changelogs().isEmpty()).map(BridgeRequest.Task::id)
            .forEach(withChangelog::add);
        final Map<TaskId, Integer> ranks = new HashMap<>();
        withChangelog.forEach(task -> ranks.put(task, ranks.size()));
        final Map<TaskId, TaskInfo> tasks = new HashMap<>();
        for (final BridgeRequest.Task task : request.tasks) {
            final Set<TopicPartition> used = new HashSet<>(task.sources());
            used.addAll(task.changelogs());
            final Set<TaskTopicPartition> partitions = new HashSet<>();
            for (final TopicPartition partition : used) {
                final DefaultTaskTopicPartition added = new DefaultTaskTopicPartition(
                    partition, task.sources().contains(partition), task.changelogs().contains(partition), annotate);
                all.add(added);
                partitions.add(added);
            }
            final int rank = ranks.getOrDefault(task.id(), 0);
            tasks.put(task.id(), new RankedTaskInfo(task.id(), task.stateful(), partitions, rank));
        }
        return tasks;
    }

    /**
     * A task whose hash code is its rank among the tasks with changelogs.
     *
     * <p>Kafka's utilities put such objects into a {@code HashSet} before they assign standbys. Kafka's class does not
     * override {@code hashCode}, so their order changes from run to run. With this class it is the order of task ids.
     */
    private static final class RankedTaskInfo extends DefaultTaskInfo {

        private final int rank;

        RankedTaskInfo(
            final TaskId id, final boolean stateful, final Set<TaskTopicPartition> partitions, final int rank
        ) {
            super(id, stateful, stateful ? Set.of("store") : Set.of(), partitions);
            this.rank = rank;
        }

        @Override
        public int hashCode() {
            return rank;
        }

        @Override
        public boolean equals(final Object other) {
            return this == other;
        }
    }

    /** Runs an action the first time only. */
    private static final class Once implements Runnable {

        private Runnable pending;

        Once(final Runnable action) {
            pending = action;
        }

        @Override
        public void run() {
            final Runnable action = pending;
            pending = null;
            if (action != null) {
                action.run();
            }
        }
    }
}
