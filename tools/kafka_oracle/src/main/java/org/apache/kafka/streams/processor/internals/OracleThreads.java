package org.apache.kafka.streams.processor.internals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.AssignorConfiguration.AssignmentListener;
import org.apache.kafka.streams.processor.internals.assignment.StreamsAssignmentProtocolVersions;

/**
 * Assigns the tasks of a client to its threads with the group leader's own {@code computeNewAssignment}: reads one
 * client per line from standard input and writes one answer per line: {@code {"active": [[…], …], "standby": …}}.
 */
public final class OracleThreads {

    private static final ProcessId PROCESS = new ProcessId(new UUID(0L, 1L));

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Method COMPUTE_NEW_ASSIGNMENT = Stream.of(StreamsPartitionAssignor.class.getDeclaredMethods())
        .filter(method -> method.getName().equals("computeNewAssignment")).findAny().orElseThrow();

    private OracleThreads() { }

    public static void main(final String[] args) throws IOException, ReflectiveOperationException {
        final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
            out.flush();
        }
    }

    private static ObjectNode answer(final JsonNode problem) throws ReflectiveOperationException {
        final Map<TaskId, Long> lags = new HashMap<>();
        problem.required("lags").fields().forEachRemaining(
            lag -> lags.put(TaskId.parse(lag.getKey()), lag.getValue().longValue()));
        final List<String> consumers = new ArrayList<>();
        final ClientMetadata client = new ClientMetadata(PROCESS, null, Map.of(), Optional.empty());
        for (final JsonNode previous : problem.required("previous")) {
            consumers.add(memberId(consumers.size() + 1));
            join(client, consumers.get(consumers.size() - 1), taskIds(previous), lags);
        }
        client.state().computeTaskLags(PROCESS, endOffsets(lags));
        final List<TaskId> active = taskIds(problem.required("stateful"));
        active.addAll(taskIds(problem.required("stateless")));
        final List<TaskId> standby = taskIds(problem.required("standby"));
        if (problem.required("pluggable").booleanValue()) {
            client.state().setAssignedTasks(pluggable(active, standby));
        } else {
            active.forEach(client.state()::assignActive);
            standby.forEach(client.state()::assignStandby);
        }
        return threads(consumers, compute(client, lags.keySet(), active, standby));
    }

    private static String memberId(final int thread) {
        return "app-" + PROCESS + "-StreamThread-" + thread + "-consumer-" + new UUID(-thread, thread);
    }

    /** Adds a thread with the offset sums of its subscription: a constant for active tasks, the offset for others. */
    private static void join(
        final ClientMetadata client, final String consumer, final List<TaskId> previous, final Map<TaskId, Long> lags
    ) {
        final Map<TaskId, Long> offsets = new HashMap<>();
        previous.forEach(task -> offsets.put(task, Math.min(lags.getOrDefault(task, 0L), 0L)));
        client.addConsumer(consumer, List.of());
        client.addPreviousTasksAndOffsetSums(consumer, offsets);
    }

    private static Map<TaskId, Long> endOffsets(final Map<TaskId, Long> lags) {
        final Map<TaskId, Long> ends = new HashMap<>();
        lags.forEach((task, lag) -> ends.put(task, Math.max(lag, 0L)));
        return ends;
    }

    private static KafkaStreamsAssignment pluggable(final List<TaskId> active, final List<TaskId> standby) {
        final KafkaStreamsAssignment assignment = KafkaStreamsAssignment.of(PROCESS, Set.of());
        active.forEach(task -> assignment.assignTask(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
        standby.forEach(task -> assignment.assignTask(new AssignedTask(task, AssignedTask.Type.STANDBY)));
        return assignment;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Assignment> compute(
        final ClientMetadata client, final Set<TaskId> stateful, final List<TaskId> active, final List<TaskId> standby
    ) throws ReflectiveOperationException {
        final StreamsPartitionAssignor leader = new StreamsPartitionAssignor();
        set(leader, "log", logger());
        set(leader, "assignmentListener", (AssignmentListener) stable -> { });
        final Map<TaskId, Set<TopicPartition>> partitions = new HashMap<>();
        Stream.of(active, standby).flatMap(Collection::stream).forEach(
            task -> partitions.put(task, Set.of(new TopicPartition("in" + task.subtopology(), task.partition()))));
        final int version = StreamsAssignmentProtocolVersions.LATEST_SUPPORTED_VERSION;
        COMPUTE_NEW_ASSIGNMENT.setAccessible(true); // private in every release
        try {
            return (Map<String, Assignment>) COMPUTE_NEW_ASSIGNMENT.invoke(
                leader, stateful, Map.of(PROCESS, client), partitions, Map.of(), Map.of(), new HashSet<>(),
                version, version, false);
        } catch (final InvocationTargetException thrown) {
            throw new IllegalStateException(thrown.getCause());
        }
    }

    /** Uses reflection: the logging interface is a run-time dependency of Kafka only. */
    private static Object logger() throws ReflectiveOperationException {
        return Class.forName("org.slf4j.LoggerFactory").getMethod("getLogger", Class.class)
            .invoke(null, OracleThreads.class);
    }

    private static void set(final Object owner, final String name, final Object value)
        throws ReflectiveOperationException {
        final Field field = StreamsPartitionAssignor.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(owner, value);
    }

    private static ObjectNode threads(final List<String> consumers, final Map<String, Assignment> assigned) {
        final ObjectNode answer = JsonNodeFactory.instance.objectNode();
        final Map<String, AssignmentInfo> decoded = new HashMap<>();
        assigned.forEach((consumer, assignment) -> decoded.put(consumer, AssignmentInfo.decode(assignment.userData())));
        put(answer.putArray("active"), consumers, consumer -> decoded.get(consumer).activeTasks());
        put(answer.putArray("standby"), consumers, consumer -> decoded.get(consumer).standbyTasks().keySet());
        return answer;
    }

    private static void put(
        final ArrayNode threads, final List<String> consumers, final Function<String, Collection<TaskId>> tasksOf
    ) {
        for (final String consumer : consumers) {
            final ArrayNode names = threads.addArray();
            new TreeSet<>(tasksOf.apply(consumer)).forEach(task -> names.add(task.toString()));
        }
    }

    private static List<TaskId> taskIds(final JsonNode names) {
        final List<TaskId> ids = new ArrayList<>();
        names.forEach(name -> ids.add(TaskId.parse(name.asText())));
        return ids;
    }
}
