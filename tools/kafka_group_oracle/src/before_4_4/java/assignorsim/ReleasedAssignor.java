package assignorsim;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TaskAssignorException;
import org.apache.kafka.coordinator.group.streams.assignor.TaskId;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/** The assignor of Kafka 4.2 and 4.3. */
final class ReleasedAssignor {

    /** @throws IllegalArgumentException custom assignors need the interfaces of KIP-1357, which 4.4 is the first to have. */
    ReleasedAssignor(final String customClass) {
        if (!customClass.isEmpty()) {
            throw new IllegalArgumentException("this release of Kafka cannot load " + customClass);
        }
    }

    /**
     * Assigns the tasks of a group whose members are in this kind of map.
     *
     * @throws TaskAssignorException there are tasks, but no member.
     */
    Map<String, GroupTasks> assign(
        final Map<String, GroupMember> members,
        final boolean inHashOrder,
        final GroupTopology topology,
        final Map<String, String> configs
    ) {
        final Map<String, AssignmentMemberSpec> group = inHashOrder ? new HashMap<>() : new TreeMap<>();
        members.forEach((memberId, member) -> group.put(memberId, new AssignmentMemberSpec(
            member.instanceId(), member.rackId(), member.activeTasks(), member.standbyTasks(), Map.of(),
            member.processId(), member.clientTags(), byTask(member.taskOffsets()), byTask(member.taskEndOffsets()))));
        final Map<String, GroupTasks> tasks = new HashMap<>();
        new StickyTaskAssignor().assign(new GroupSpecImpl(group, configs), describer(topology)).members()
            .forEach((memberId, given) ->
                tasks.put(memberId, new GroupTasks(given.activeTasks(), given.standbyTasks())));
        return tasks;
    }

    private static TopologyDescriber describer(final GroupTopology topology) {
        return new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return topology.subtopologies();
            }

            @Override
            public int maxNumInputPartitions(final String subtopology) {
                return topology.partitions(subtopology);
            }

            @Override
            public boolean isStateful(final String subtopology) {
                return topology.isStateful(subtopology);
            }
        };
    }

    private static Map<TaskId, Long> byTask(final Map<String, Map<Integer, Long>> offsets) {
        final Map<TaskId, Long> flat = new HashMap<>();
        offsets.forEach((subtopology, partitions) -> partitions.forEach(
            (partition, offset) -> flat.put(new TaskId(subtopology, partition), offset)));
        return flat;
    }
}
