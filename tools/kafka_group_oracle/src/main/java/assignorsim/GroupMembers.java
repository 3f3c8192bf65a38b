package assignorsim;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.coordinator.group.streams.assignor.TaskId;

/** The clients of a problem as members of a streams group (docs/reference/assignors.md): one member for each thread. */
final class GroupMembers {

    private static final Comparator<TaskId> BY_NUMBER =
        Comparator.<TaskId>comparingInt(task -> Integer.parseInt(task.subtopologyId()))
            .thenComparingInt(TaskId::partition);

    private GroupMembers() { }

    /** Returns the members by member id, in the order of clients and their threads. */
    static Map<String, GroupMember> of(final JsonNode clients, final GroupTopology topology) {
        final Map<String, GroupMember> group = new LinkedHashMap<>();
        for (final JsonNode client : clients) {
            final List<GroupMember> threads = threads(client);
            distribute(client, threads, topology);
            for (int thread = 0; thread < threads.size(); thread++) {
                group.put(threads.get(thread).processId() + "-StreamThread-" + (thread + 1), threads.get(thread));
            }
        }
        return group;
    }

    private static List<GroupMember> threads(final JsonNode client) {
        final Map<String, String> tags = new HashMap<>();
        client.path("tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
        final List<GroupMember> threads = new ArrayList<>();
        for (int thread = 1; thread <= client.path("threads").asInt(1); thread++) {
            final int number = thread;
            threads.add(GroupMember.without(
                Optional.ofNullable(client.path("instance_id").textValue()).map(instance -> instance + "-" + number),
                Optional.ofNullable(client.path("rack").textValue()), client.required("process_id").asText(), tags));
        }
        return threads;
    }

    /**
     * Distributes previous tasks round-robin: active ones, then standbys, then other copies with a reported offset.
     * A thread that had a task reports its offset, as a standby rather than as an active task.
     */
    private static void distribute(
        final JsonNode client, final List<GroupMember> threads, final GroupTopology topology
    ) {
        if (threads.isEmpty()) {
            return;
        }
        final Map<TaskId, GroupMember> reporters = new HashMap<>();
        int next = 0;
        for (final TaskId task : existing(client.path("previous_active"), topology)) {
            final GroupMember thread = threads.get(next++ % threads.size());
            thread.addActive(task);
            reporters.put(task, thread);
        }
        for (final TaskId task : existing(client.path("previous_standby"), topology)) {
            final GroupMember thread = threads.get(next++ % threads.size());
            thread.addStandby(task);
            reporters.put(task, thread);
        }
        final Map<TaskId, Long> ends = offsets(client.path("task_end_offsets"), topology);
        for (final Map.Entry<TaskId, Long> copy : offsets(client.path("task_offsets"), topology).entrySet()) {
            GroupMember thread = reporters.get(copy.getKey());
            if (thread == null) {
                thread = threads.get(next++ % threads.size());
            }
            thread.report(copy.getKey(), copy.getValue(), Optional.ofNullable(ends.get(copy.getKey())));
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

    private static Map<TaskId, Long> offsets(final JsonNode byTask, final GroupTopology topology) {
        final Map<TaskId, Long> offsets = new TreeMap<>(BY_NUMBER);
        byTask.fields().forEachRemaining(entry -> {
            final TaskId task = GroupTopology.taskId(entry.getKey());
            if (topology.has(task)) {
                offsets.put(task, entry.getValue().asLong());
            }
        });
        return offsets;
    }
}
