package org.apache.kafka.streams.processor.internals.assignment;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

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
import org.apache.kafka.streams.processor.internals.OracleMembers;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;

/** An assignor of KIP-924, with an application state built as by {@code StreamsPartitionAssignor}. */
final class Pluggable implements Assignor {

    private static final String CONSUMER = "consumer";

    private final TaskAssignor assignor;

    Pluggable(final TaskAssignor assignor) {
        this.assignor = assignor;
    }

    /** Returns an assignor by its class on the class path; it must not require configuration. */
    static Pluggable ofClass(final String name) {
        try {
            return new Pluggable(Class.forName(name).asSubclass(TaskAssignor.class).getConstructor().newInstance());
        } catch (final ReflectiveOperationException | ClassCastException error) {
            throw new IllegalArgumentException("unknown assignor '" + name + "': " + error, error);
        }
    }

    @Override
    public Assigned assign(final Problem problem, final AssignmentConfigs configs, final ListingOrder order) {
        final ApplicationState state = applicationState(problem, configs, order);
        final long started = System.nanoTime();
        final TaskAssignment assignment = assignor.assign(state);
        final long nanos = System.nanoTime() - started;
        final SortedMap<ProcessId, ClientState> clients = new TreeMap<>();
        boolean probing = false;
        for (final KafkaStreamsAssignment given : assignment.assignment()) {
            final ClientState client = new ClientState(given.processId(), Map.of());
            for (final AssignedTask task : given.tasks().values()) {
                if (task.type() == AssignedTask.Type.ACTIVE) {
                    client.assignActive(task.id());
                } else {
                    client.assignStandby(task.id());
                }
            }
            clients.put(given.processId(), client);
            probing |= given.followupRebalanceDeadline().isPresent();
        }
        return new Assigned(clients, probing, nanos);
    }

    private static ApplicationState applicationState(
        final Problem problem, final AssignmentConfigs configs, final ListingOrder order
    ) {
        final Map<ProcessId, ClientMetadata> clients = order.newMap();
        for (final Problem.Client client : problem.clients) {
            final ClientMetadata metadata = OracleMembers.join(client.id(), client.tags(), client.rack());
            for (int thread = 0; thread < client.threads(); thread++) {
                metadata.state().incrementCapacity();
            }
            metadata.state().addPreviousActiveTasks(client.previousActive());
            metadata.state().addPreviousStandbyTasks(client.previousStandby());
            setLags(client, metadata.state());
            clients.put(client.id(), metadata);
        }
        return new DefaultApplicationState(configs, tasks(problem, order), clients);
    }

    /** Sets the lags of a client state through offsets and end offsets, as after the subscriptions of its members. */
    private static void setLags(final Problem.Client client, final ClientState state) {
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

    private static Map<TaskId, TaskInfo> tasks(final Problem problem, final ListingOrder order) {
        final KnownTopics topics = new KnownTopics(problem.racks);
        final Cluster metadata = topics.metadata(problem.tasks);
        final Set<DefaultTaskTopicPartition> all = new HashSet<>();
        final Runnable annotate = new Once(() ->
            RackUtils.annotateTopicPartitionsWithRackInfo(metadata, topics, all));
        final TreeSet<TaskId> withChangelog = new TreeSet<>();
        problem.tasks.stream().filter(task -> !task.changelogs().isEmpty()).map(Problem.Task::id)
            .forEach(withChangelog::add);
        final Map<TaskId, TaskInfo> tasks = order.newMap();
        for (final Problem.Task task : problem.tasks) {
            final Set<TopicPartition> used = new HashSet<>(task.sources());
            used.addAll(task.changelogs());
            final Set<TaskTopicPartition> partitions = new HashSet<>();
            for (final TopicPartition partition : used) {
                final DefaultTaskTopicPartition added = new DefaultTaskTopicPartition(
                    partition, task.sources().contains(partition), task.changelogs().contains(partition), annotate);
                all.add(added);
                partitions.add(added);
            }
            final int rank = withChangelog.headSet(task.id()).size();
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

        private Optional<Runnable> pending;

        Once(final Runnable action) {
            pending = Optional.of(action);
        }

        @Override
        public void run() {
            final Optional<Runnable> action = pending;
            pending = Optional.empty();
            action.ifPresent(Runnable::run);
        }
    }
}
