package assignorsim;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.coordinator.group.streams.assignor.TaskId;

/** The tasks of a problem as subtopologies with a number of partitions, as in a group coordinator. */
final class GroupTopology {

    private final SortedMap<String, TreeSet<Integer>> partitions = new TreeMap<>();
    private final SortedMap<String, Boolean> stateful = new TreeMap<>();

    /** @throws IllegalArgumentException the tasks are not those of subtopologies. */
    GroupTopology(final JsonNode tasks) {
        for (final JsonNode task : tasks) {
            final TaskId id = taskId(task.required("id").asText());
            final boolean hasState = task.required("stateful").asBoolean();
            partitions.computeIfAbsent(id.subtopologyId(), added -> new TreeSet<>()).add(id.partition());
            if (stateful.merge(id.subtopologyId(), hasState, Boolean::logicalAnd) != hasState) {
                throw new IllegalArgumentException("subtopology " + id.subtopologyId() + " is only partly stateful");
            }
        }
        partitions.forEach((subtopology, numbers) -> {
            if (numbers.last() != numbers.size() - 1) {
                throw new IllegalArgumentException("subtopology " + subtopology + " lacks tasks: " + numbers);
            }
        });
    }

    static TaskId taskId(final String name) {
        final int underscore = name.indexOf('_');
        return new TaskId(name.substring(0, underscore), Integer.parseInt(name.substring(underscore + 1)));
    }

    boolean has(final TaskId task) {
        return partitions.containsKey(task.subtopologyId())
            && partitions.get(task.subtopologyId()).contains(task.partition());
    }

    List<String> subtopologies() {
        return List.copyOf(partitions.keySet());
    }

    int partitions(final String subtopology) {
        return partitions.get(subtopology).size();
    }

    boolean isStateful(final String subtopology) {
        return stateful.get(subtopology);
    }
}
