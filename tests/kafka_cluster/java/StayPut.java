package assignorsim;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask.Type;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

import static java.util.Comparator.comparing;

/**
 * Tasks stay on their client while it has capacity; others go to a client with a copy, then near their data.
 *
 * <p>Standbys go to racks without a copy, then to previous owners. No warm-ups; ties go to the lower process id.
 */
public final class StayPut implements TaskAssignor {

    @Override
    public TaskAssignment assign(final ApplicationState state) {
        final Collection<TaskInfo> tasks = new TreeMap<>(state.allTasks()).values();
        final List<Client> clients = new ArrayList<>();
        final Collection<KafkaStreamsState> members = new TreeMap<>(state.kafkaStreamsStates(false)).values();
        final int threads = members.stream().mapToInt(KafkaStreamsState::numProcessingThreads).sum();
        for (final KafkaStreamsState member : members) {
            clients.add(new Client(member, tasks.size(), threads));
        }
        final List<TaskInfo> moving = new ArrayList<>();
        for (final TaskInfo task : tasks) {
            clients.stream().filter(client -> client.ran(task) && client.hasCapacity()).findFirst()
                .ifPresentOrElse(client -> client.assign(task, Type.ACTIVE), () -> moving.add(task));
        }
        for (final TaskInfo task : moving) {
            clients.stream().filter(Client::hasCapacity)
                .min(comparing((Client client) -> !client.hadCopy(task))
                    .thenComparing(client -> client.remotePartitions(task))
                    .thenComparing(Client::load)
                    .thenComparing(client -> client.state.processId()))
                .ifPresent(client -> client.assign(task, Type.ACTIVE));
        }
        for (final TaskInfo task : tasks) {
            for (int copy = 0; task.isStateful() && copy < state.assignmentConfigs().numStandbyReplicas(); copy++) {
                addStandby(task, clients);
            }
        }
        return new TaskAssignment(clients.stream().map(Client::assignment).toList());
    }

    /** Assigns one more standby to a client without the task, if there is one. */
    private static void addStandby(final TaskInfo task, final List<Client> clients) {
        final Set<Optional<String>> racks = new HashSet<>();
        clients.stream().filter(client -> client.has(task)).forEach(client -> racks.add(client.state.rackId()));
        clients.stream().filter(client -> !client.has(task))
            .min(comparing((Client client) -> racks.contains(client.state.rackId()))
                .thenComparing(client -> !client.hadCopy(task))
                .thenComparing(Client::load)
                .thenComparing(client -> client.state.processId()))
            .ifPresent(client -> client.assign(task, Type.STANDBY));
    }

    /** A client and the tasks assigned to it so far. */
    private static final class Client {

        private final KafkaStreamsState state;
        private final Set<AssignedTask> tasks = new HashSet<>();
        private final int capacity;

        /** Sets its capacity for active tasks: its share by threads, rounded up, so that all tasks fit. */
        Client(final KafkaStreamsState state, final int allTasks, final int allThreads) {
            this.state = state;
            this.capacity = (allTasks * state.numProcessingThreads() + allThreads - 1) / allThreads;
        }

        boolean ran(final TaskInfo task) {
            return state.previousActiveTasks().contains(task.id());
        }

        boolean hadCopy(final TaskInfo task) {
            return ran(task) || state.previousStandbyTasks().contains(task.id());
        }

        boolean has(final TaskInfo task) {
            return tasks.contains(new AssignedTask(task.id(), Type.ACTIVE))
                || tasks.contains(new AssignedTask(task.id(), Type.STANDBY));
        }

        boolean hasCapacity() {
            return tasks.size() < capacity;
        }

        double load() {
            return (double) tasks.size() / state.numProcessingThreads();
        }

        /** Returns the number of partitions that it would read from other racks. */
        long remotePartitions(final TaskInfo task) {
            return task.topicPartitions().stream().filter(TaskTopicPartition::isSource)
                .filter(partition -> !isNear(partition)).count();
        }

        private boolean isNear(final TaskTopicPartition partition) {
            final Set<String> racks = partition.rackIds().orElse(Set.of());
            return state.rackId().map(racks::contains).orElse(false);
        }

        void assign(final TaskInfo task, final Type type) {
            tasks.add(new AssignedTask(task.id(), type));
        }

        KafkaStreamsAssignment assignment() {
            return KafkaStreamsAssignment.of(state.processId(), tasks);
        }
    }
}
