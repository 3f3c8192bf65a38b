package assignorsim;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.TaskId;

/** The clients of a problem as members of a streams group (docs/reference/assignors.md): one member for each thread. */
final class GroupMembers {

    private static final Comparator<TaskId> BY_NUMBER =
        Comparator.<TaskId>comparingInt(task -> Integer.parseInt(task.subtopologyId()))
            .thenComparingInt(TaskId::partition);

    private GroupMembers() { }

    /** Adds the members to the map, in the order of clients and their threads. */
    static void join(
        final Map<String, AssignmentMemberSpec> group, final JsonNode clients, final GroupTopology topology
    ) {
        for (final JsonNode client : clients) {
            final String processId = client.required("process_id").asText();
            final int threads = client.path("threads").asInt(1);
            final Set<TaskId> active = existing(client.path("previous_active"), topology);
            final Set<TaskId> standby = existing(client.path("previous_standby"), topology);
            final List<Map<String, Set<Integer>>> actives = distribute(active, threads, 0);
            final List<Map<String, Set<Integer>>> standbys = distribute(standby, threads, active.size());
            for (int thread = 0; thread < threads; thread++) {
                group.put(processId + "-StreamThread-" + (thread + 1), new AssignmentMemberSpec(
                    Optional.empty(), Optional.ofNullable(client.path("rack").textValue()), actives.get(thread),
                    standbys.get(thread), Map.of(), processId, Map.of(), Map.of(), Map.of()));
            }
        }
    }

    /** Returns the tasks that the topology has; previous tasks may no longer exist. */
    private static Set<TaskId> existing(final JsonNode names, final GroupTopology topology) {
        final Set<TaskId> tasks = new TreeSet<>(BY_NUMBER);
        for (final JsonNode name : names) {
            final TaskId task = GroupTopology.taskId(name.asText());
            if (topology.has(task)) {
                tasks.add(task);
            }
        }
        return tasks;
    }

    /** Distributes tasks round-robin, starting with the thread of that number. */
    private static List<Map<String, Set<Integer>>> distribute(
        final Set<TaskId> tasks, final int threads, final int first
    ) {
        final List<Map<String, Set<Integer>>> byThread = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            byThread.add(new HashMap<>());
        }
        int next = first;
        for (final TaskId task : tasks) {
            if (threads > 0) {
                byThread.get(next++ % threads).computeIfAbsent(task.subtopologyId(), added -> new HashSet<>())
                    .add(task.partition());
            }
        }
        return byThread;
    }
}
