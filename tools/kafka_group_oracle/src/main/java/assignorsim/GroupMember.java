package assignorsim;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.apache.kafka.coordinator.group.streams.assignor.TaskId;

/** A member of a streams group: all that its heartbeats report, and its previous tasks, in the form of any release. */
record GroupMember(
    Optional<String> instanceId,
    Optional<String> rackId,
    String processId,
    Map<String, String> clientTags,
    Map<String, Set<Integer>> activeTasks,
    Map<String, Set<Integer>> standbyTasks,
    Map<String, Map<Integer, Long>> taskOffsets,
    Map<String, Map<Integer, Long>> taskEndOffsets
) {
    static GroupMember without(
        final Optional<String> instanceId,
        final Optional<String> rackId,
        final String processId,
        final Map<String, String> clientTags
    ) {
        return new GroupMember(instanceId, rackId, processId, clientTags, new HashMap<>(), new HashMap<>(),
            new HashMap<>(), new HashMap<>());
    }

    void addActive(final TaskId task) {
        activeTasks.computeIfAbsent(task.subtopologyId(), added -> new HashSet<>()).add(task.partition());
    }

    void addStandby(final TaskId task) {
        standbyTasks.computeIfAbsent(task.subtopologyId(), added -> new HashSet<>()).add(task.partition());
    }

    void report(final TaskId task, final long offset, final Optional<Long> endOffset) {
        taskOffsets.computeIfAbsent(task.subtopologyId(), added -> new HashMap<>()).put(task.partition(), offset);
        endOffset.ifPresent(end ->
            taskEndOffsets.computeIfAbsent(task.subtopologyId(), added -> new HashMap<>()).put(task.partition(), end));
    }
}
