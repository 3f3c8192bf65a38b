package assignorsim.bridge.from_4_4;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import assignorsim.bridge.Stopwatch;
import assignorsim.bridge.group.GroupRequest;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;

/** An assignor of a group coordinator with the interfaces of KIP-1357, which Kafka 4.4 is the first to have. */
public final class GroupAssignor implements Function<Map<String, Object>, Map<String, Object>> {

    private final TaskAssignor assignor;

    /** @throws Throwable the class cannot be loaded or instantiated. */
    public GroupAssignor(final String name) throws Throwable {
        final Class<?> loaded = Class.forName(name);
        if (!TaskAssignor.class.isAssignableFrom(loaded)) {
            throw new ClassCastException("does not implement " + TaskAssignor.class.getName());
        }
        final Constructor<? extends TaskAssignor> constructor =
            loaded.asSubclass(TaskAssignor.class).getDeclaredConstructor();
        constructor.setAccessible(true);
        try {
            assignor = constructor.newInstance();
        } catch (final InvocationTargetException error) {
            throw error.getCause();
        }
    }

    @Override
    public Map<String, Object> apply(final Map<String, Object> json) {
        final GroupRequest request = new GroupRequest(json);
        final Map<String, MemberMetadataAndStateImpl> group = new LinkedHashMap<>();
        request.members.forEach((memberId, member) -> group.put(memberId, new MemberMetadataAndStateImpl(
            member.instanceId(), member.rackId(), member.processId(), member.clientTags(), member.activeTasks(),
            member.standbyTasks(), Map.of(), member.taskOffsets(), member.taskEndOffsets())));
        final GroupSpecImpl spec = new GroupSpecImpl(group, AssignmentConfigsImpl.fromMap(request.configs));
        final TopologyDescriber topology = describer(request);
        final Stopwatch stopwatch = new Stopwatch();
        final GroupAssignment assignment = assignor.assign(spec, topology);
        stopwatch.stop();
        if (assignment == null) {
            throw new NullPointerException("assign returned null");
        }
        final GroupRequest.Answer answer = new GroupRequest.Answer();
        assignment.members().forEach((id, given) -> answer.add(id, given.activeTasks(), given.standbyTasks()));
        return answer.after(stopwatch);
    }

    private static TopologyDescriber describer(final GroupRequest request) {
        return new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return request.subtopologies();
            }

            @Override
            public int maxNumInputPartitions(final String subtopology) {
                return request.partitions(subtopology);
            }

            @Override
            public boolean isStateful(final String subtopology) {
                return request.isStateful(subtopology);
            }
        };
    }
}
