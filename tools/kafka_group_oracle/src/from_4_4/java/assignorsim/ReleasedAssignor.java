package assignorsim;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignorException;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** The assignor of Kafka 4.4, whose interfaces are those of KIP-1357, or a custom assignor. */
final class ReleasedAssignor {

    private final TaskAssignor assignor;

    /**
     * Loads an assignor as a broker does.
     *
     * @param customClass a public class with a public constructor without parameters; empty for Kafka's assignor.
     */
    ReleasedAssignor(final String customClass) throws ReflectiveOperationException {
        assignor = customClass.isEmpty()
            ? new StickyTaskAssignor()
            : (TaskAssignor) Class.forName(customClass).getConstructor().newInstance();
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
        final Map<String, MemberMetadataAndStateImpl> group = inHashOrder ? new HashMap<>() : new TreeMap<>();
        members.forEach((memberId, member) -> group.put(memberId, new MemberMetadataAndStateImpl(
            member.instanceId(), member.rackId(), member.processId(), member.clientTags(), member.activeTasks(),
            member.standbyTasks(), Map.of(), member.taskOffsets(), member.taskEndOffsets())));
        final Map<String, GroupTasks> tasks = new HashMap<>();
        assignor.assign(new GroupSpecImpl(group, AssignmentConfigsImpl.fromMap(configs)), describer(topology)).members()
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
}
