package assignorsim.bridge.before_4_4;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import assignorsim.bridge.Stopwatch;
import assignorsim.bridge.group.GroupRequest;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TaskId;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/** An assignor of a group coordinator of Kafka 4.2 and 4.3, whose interfaces are internal. */
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
        final Map<String, AssignmentMemberSpec> group = new LinkedHashMap<>();
        request.members.forEach((memberId, member) -> group.put(memberId, new AssignmentMemberSpec(
            member.instanceId(), member.rackId(), member.activeTasks(), member.standbyTasks(), Map.of(),
            member.processId(), member.clientTags(), byTask(member.taskOffsets()), byTask(member.taskEndOffsets()))));
        final GroupSpecImpl spec = new GroupSpecImpl(group, request.configs);
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

    private static Map<TaskId, Long> byTask(final Map<String, Map<Integer, Long>> offsets) {
        final Map<TaskId, Long> flat = new HashMap<>();
        offsets.forEach((subtopology, partitions) -> partitions.forEach(
            (partition, offset) -> flat.put(new TaskId(subtopology, partition), offset)));
        return flat;
    }
}
