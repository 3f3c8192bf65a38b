package org.apache.kafka.streams.processor.internals.assignment;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import net.bytebuddy.implementation.bind.annotation.AllArguments;
import net.bytebuddy.implementation.bind.annotation.Morph;
import net.bytebuddy.implementation.bind.annotation.Origin;
import net.bytebuddy.implementation.bind.annotation.RuntimeType;
import net.bytebuddy.implementation.bind.annotation.This;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor.MoveStandbyTaskPredicate;

/**
 * Answers methods of Kafka with another program, and compares each answer with that of Kafka's own code.
 *
 * <p>Kafka's code gets copies of what it changes, and runs first. What it calls meanwhile is its own, too.
 */
@SuppressWarnings("unchecked")
public final class Answers {

    /** Kafka's own code of a method. */
    public interface Original {
        Object call(Object[] arguments) throws Throwable;
    }

    /** The other program. */
    public interface Program {
        JsonNode answer(Map<String, Object> request) throws IOException, InterruptedException;
    }

    private interface Code {
        Object run() throws Throwable;
    }

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static Answers answers;

    private final Program program;
    private final List<Map<String, Object>> tests = new ArrayList<>();
    private boolean isAnswering;

    private Answers(final Program program) {
        this.program = program;
    }

    /** Lets a program answer from now on. */
    public static Answers from(final Program program) {
        answers = new Answers(program);
        return answers;
    }

    /** Notes that a test has begun. */
    public void begin(final String className, final String name) {
        final Map<String, Object> test = new LinkedHashMap<>();
        test.put("class", className);
        test.put("name", name);
        test.put("answers", new ArrayList<>());
        tests.add(test);
    }

    /** Notes the result of the test that began last, with the message of its failure or null. */
    public void end(final String status, final String message) {
        test().put("status", status);
        test().put("message", message);
    }

    /** Returns the tests with their results, and for each answer whether it equals Kafka's. */
    public List<Map<String, Object>> tests() {
        return tests;
    }

    private Map<String, Object> test() {
        return tests.get(tests.size() - 1);
    }

    /** Takes a call of one of Kafka's methods. */
    @RuntimeType
    public static Object intercept(
        @Origin final Method method,
        @This(optional = true) final Object self,
        @AllArguments final Object[] arguments,
        @Morph final Original original
    ) throws Throwable {
        if (answers == null || answers.isAnswering) {
            return original.call(arguments);
        }
        answers.isAnswering = true;
        try {
            return answers.answer(method, self, arguments, original);
        } finally {
            answers.isAnswering = false;
        }
    }

    private Object answer(final Method method, final Object self, final Object[] arguments, final Original original)
        throws Throwable {
        final Map<String, Object> request = new LinkedHashMap<>();
        request.put("class", method.getDeclaringClass().getName());
        request.put("method", method.getName());
        if (self instanceof RackAwareTaskAssignor) {
            return answerOptimizer(request, (RackAwareTaskAssignor) self, arguments, original);
        }
        if (method.getName().equals("assignTasksToThreads")) {
            return answerThreads(request, arguments, original);
        }
        if (arguments[0] instanceof ApplicationState) {
            final ApplicationState state = (ApplicationState) arguments[0];
            if (arguments.length == 1) {
                return answerPluggable(request, state, () -> original.call(arguments));
            }
            request.put("state", stateOf(state));
            return answerUtility(request, (Map<ProcessId, KafkaStreamsAssignment>) arguments[1],
                changed -> original.call(new Object[] {state, changed}));
        }
        if (method.getDeclaringClass().getSimpleName().equals("TaskAssignmentUtils")) {
            final ApplicationState state = (ApplicationState) read(arguments[0], "applicationState");
            request.put("state", stateOf(state));
            ((Optional<Integer>) read(arguments[0], "trafficCostOverride"))
                .ifPresent(cost -> request.put("traffic_cost", cost));
            ((Optional<Integer>) read(arguments[0], "nonOverlapCostOverride"))
                .ifPresent(cost -> request.put("non_overlap_cost", cost));
            ((Optional<SortedSet<TaskId>>) read(arguments[0], "tasksToOptimize"))
                .ifPresent(tasks -> request.put("tasks", names(tasks)));
            return answerUtility(request, (Map<ProcessId, KafkaStreamsAssignment>) arguments[1],
                changed -> original.call(new Object[] {arguments[0], changed}));
        }
        final Map<ProcessId, ClientState> clients = (Map<ProcessId, ClientState>) arguments[0];
        final Set<TaskId> tasks = (Set<TaskId>) arguments[1];
        final Set<TaskId> stateful = (Set<TaskId>) arguments[2];
        final boolean isRackAware = arguments.length == 5
            && arguments[3] != null && ((RackAwareTaskAssignor) arguments[3]).canEnableRackAwareAssignor();
        final AssignmentConfigs configs = (AssignmentConfigs) arguments[arguments.length - 1];
        request.put("state", stateOf(
            clients, tasks, stateful, isRackAware ? (RackAwareTaskAssignor) arguments[3] : null, configs));
        request.put("stateful", names(stateful));
        if (self instanceof ClientTagAwareStandbyTaskAssignor) {
            putTags((Map<String, Object>) request.get("state"), self, clients, configs);
        }
        final Object preserves = read(self, "mustPreserveActiveTaskAssignment");
        if (preserves != null) {
            request.put("preserves", preserves);
        }
        return answerClients(request, clients, copies -> {
            final Object[] changed = arguments.clone();
            changed[0] = copies;
            return original.call(changed);
        });
    }

    /** Puts the tags that the assignor's functions return, which need not be those of clients and configs. */
    private static void putTags(
        final Map<String, Object> state,
        final Object assignor,
        final Map<ProcessId, ClientState> clients,
        final AssignmentConfigs configs
    ) throws IllegalAccessException {
        final var tagsOf = (BiFunction<ProcessId, ClientState, Map<String, String>>) read(assignor, "clientTagFunction");
        final var keysOf = (Function<AssignmentConfigs, List<String>>) read(assignor, "tagsFunction");
        ((Map<String, Object>) state.get("configs")).put("rack_aware_assignment_tags", keysOf.apply(configs));
        final Iterator<Object> listed = ((List<Object>) state.get("clients")).iterator();
        clients.forEach((id, client) -> ((Map<String, Object>) listed.next()).put("tags", tagsOf.apply(id, client)));
    }

    private Object answerOptimizer(
        final Map<String, Object> request,
        final RackAwareTaskAssignor self,
        final Object[] arguments,
        final Original original
    ) throws Throwable {
        final boolean ofStandbys = arguments[0] instanceof SortedMap;
        final SortedMap<ProcessId, ClientState> clients =
            (SortedMap<ProcessId, ClientState>) arguments[ofStandbys ? 0 : 1];
        final AssignmentConfigs configs = (AssignmentConfigs) read(self, "assignmentConfigs");
        final boolean isConstrained = ofStandbys && forbidsAny(arguments[3], clients);
        if (!Boolean.TRUE.equals(read(self, "canEnable")) // It refuses to work.
            || isConstrained && configs.rackAwareAssignmentTags().isEmpty() // No assignor has this constraint.
            || !ofStandbys && !haveOneOwner((SortedSet<TaskId>) arguments[0], clients)) { // It throws.
            return original.call(arguments);
        }
        final int costs = ofStandbys ? 1 : 2;
        request.put("traffic_cost", arguments[costs]);
        request.put("non_overlap_cost", arguments[costs + 1]);
        final Set<TaskId> tasks = new TreeSet<>(((Map<TaskId, ?>) read(self, "partitionsForTask")).keySet());
        final Map<TaskId, ?> changelogs = (Map<TaskId, ?>) read(self, "changelogPartitionsForTask");
        tasks.addAll(changelogs.keySet());
        request.put("state", stateOf(clients, tasks, changelogs.keySet(), self, configs));
        if (ofStandbys) {
            request.put("is_constrained", isConstrained);
        } else {
            request.put("tasks", names((SortedSet<TaskId>) arguments[0]));
        }
        return answerClients(request, clients, copies -> {
            final Object[] changed = arguments.clone();
            changed[ofStandbys ? 0 : 1] = copies;
            return original.call(changed);
        });
    }

    private static boolean haveOneOwner(final Set<TaskId> tasks, final Map<ProcessId, ClientState> clients) {
        return tasks.stream().allMatch(
            task -> clients.values().stream().filter(client -> client.hasActiveTask(task)).count() == 1);
    }

    private static boolean forbidsAny(final Object canMove, final Map<ProcessId, ClientState> clients) {
        final MoveStandbyTaskPredicate predicate = (MoveStandbyTaskPredicate) canMove;
        for (final ClientState source : clients.values()) {
            for (final ClientState destination : clients.values()) {
                for (final TaskId task : source.standbyTasks()) {
                    if (source != destination && !predicate.canMove(source, destination, task, clients)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private interface WithClients {
        Object call(Map<ProcessId, ClientState> clients) throws Throwable;
    }

    /** Lets Kafka's code change copies of clients, and the program the clients themselves. */
    private Object answerClients(
        final Map<String, Object> request, final Map<ProcessId, ClientState> clients, final WithClients code
    ) throws Throwable {
        final Map<String, Object> before = assignedOf(clients);
        request.put("assigned", before);
        final Map<ProcessId, ClientState> copies =
            clients instanceof SortedMap ? new TreeMap<>() : new LinkedHashMap<>();
        clients.forEach((id, client) -> copies.put(id, copyOf(client)));
        final JsonNode answer = ask(request, expected(() -> code.call(copies), () -> assignedOf(copies)));
        clients.forEach((id, client) -> {
            final JsonNode given = answer.required("assigned").required(id.toString());
            change(given.required("active"), client.activeTasks(), client::assignActive, client::unassignActive);
            change(given.required("standby"), client.standbyTasks(), client::assignStandby, client::unassignStandby);
        });
        final JsonNode result = answer.required("result");
        return result.isBoolean() ? (Object) result.booleanValue() : (Object) result.longValue();
    }

    private static void change(
        final JsonNode given,
        final Set<TaskId> assigned,
        final Consumer<TaskId> assign,
        final Consumer<TaskId> unassign
    ) {
        final Set<TaskId> wanted = new TreeSet<>(tasks(given));
        new ArrayList<>(assigned).stream().filter(task -> !wanted.contains(task)).forEach(unassign);
        wanted.stream().filter(task -> !assigned.contains(task)).forEach(assign);
    }

    private static ClientState copyOf(final ClientState client) {
        final ClientState copy = new ClientState(client);
        client.activeTasks().forEach(copy::assignActive);
        client.standbyTasks().forEach(copy::assignStandby);
        return copy;
    }

    private static Map<String, Object> assignedOf(final Map<ProcessId, ClientState> clients) {
        final Map<String, Object> assigned = new TreeMap<>();
        clients.forEach((id, client) -> assigned.put(id.toString(), new TreeMap<>(Map.of(
            "active", names(new TreeSet<>(client.activeTasks())),
            "standby", names(new TreeSet<>(client.standbyTasks()))))));
        return assigned;
    }

    private interface WithAssignments {
        Object call(Map<ProcessId, KafkaStreamsAssignment> assignments) throws Throwable;
    }

    private Object answerUtility(
        final Map<String, Object> request,
        final Map<ProcessId, KafkaStreamsAssignment> assignments,
        final WithAssignments code
    ) throws Throwable {
        request.put("assigned", assignmentsOf(assignments.values()));
        request.put("order", assignments.keySet().stream().map(Object::toString).toList());
        final Map<ProcessId, KafkaStreamsAssignment> copies = new LinkedHashMap<>();
        assignments.forEach((id, given) -> copies.put(
            id, KafkaStreamsAssignment.of(id, new HashSet<>(given.tasks().values()))));
        final JsonNode answer =
            ask(request, expected(() -> code.call(copies), () -> assignmentsOf(copies.values())));
        answer.required("assigned").fields().forEachRemaining(entry -> {
            final ProcessId id = processId(entry.getKey());
            final KafkaStreamsAssignment changed =
                assignments.computeIfAbsent(id, key -> KafkaStreamsAssignment.of(id, Set.of()));
            final Set<AssignedTask> wanted = assignedTasks(entry.getValue());
            new ArrayList<>(changed.tasks().values()).stream().filter(task -> !wanted.contains(task))
                .forEach(changed::removeTask);
            wanted.stream().filter(task -> !changed.tasks().containsValue(task)).forEach(changed::assignTask);
        });
        return null;
    }

    private Object answerPluggable(final Map<String, Object> request, final ApplicationState state, final Code code)
        throws Throwable {
        request.put("state", stateOf(state));
        // A set of objects without hash codes of their own, so its order is that of the same set in Kafka's code.
        request.put("stateful", state.allTasks().values().stream()
            .filter(task -> task.topicPartitions().stream().anyMatch(TaskTopicPartition::isChangelog))
            .collect(Collectors.toSet()).stream().map(TaskInfo::id).map(Object::toString).toList());
        final List<TaskAssignment> kafkas = new ArrayList<>();
        final JsonNode answer = ask(request, expected(
            () -> {
                kafkas.add((TaskAssignment) code.run());
                return null;
            },
            () -> assignmentsOf(kafkas.get(0).assignment())));
        final List<KafkaStreamsAssignment> assignments = new ArrayList<>();
        answer.required("assigned").fields().forEachRemaining(entry -> assignments.add(
            KafkaStreamsAssignment.of(processId(entry.getKey()), assignedTasks(entry.getValue()))));
        return new TaskAssignment(assignments);
    }

    private static Map<String, Object> assignmentsOf(final Collection<KafkaStreamsAssignment> assignments) {
        final Map<String, Object> assigned = new TreeMap<>();
        for (final KafkaStreamsAssignment given : assignments) {
            final Set<TaskId> active = new TreeSet<>();
            final Set<TaskId> standby = new TreeSet<>();
            given.tasks().values().forEach(
                task -> (task.type() == AssignedTask.Type.ACTIVE ? active : standby).add(task.id()));
            assigned.put(given.processId().toString(),
                new TreeMap<>(Map.of("active", names(active), "standby", names(standby))));
        }
        return assigned;
    }

    private static Set<AssignedTask> assignedTasks(final JsonNode given) {
        final Set<AssignedTask> assigned = new HashSet<>();
        tasks(given.required("active")).forEach(task -> assigned.add(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
        tasks(given.required("standby"))
            .forEach(task -> assigned.add(new AssignedTask(task, AssignedTask.Type.STANDBY)));
        return assigned;
    }

    private Object answerThreads(final Map<String, Object> request, final Object[] arguments, final Original original)
        throws Throwable {
        final Collection<TaskId> assigned = (Collection<TaskId>) arguments[0];
        final SortedSet<String> consumers = (SortedSet<String>) arguments[2];
        final ClientState client = (ClientState) arguments[3];
        final Map<String, Integer> load = (Map<String, Integer>) arguments[4];
        request.put("tasks", names(assigned));
        request.put("is_stateful", arguments[1]);
        request.put("consumers", new ArrayList<>(consumers));
        request.put("load", consumers.stream().map(consumer -> load.getOrDefault(consumer, 0)).toList());
        request.put("previous", consumers.stream()
            .map(consumer -> names(client.prevOwnedStatefulTasksByConsumer(consumer))).toList());
        final Map<String, Long> lags = new TreeMap<>();
        client.taskLagTotals().forEach((task, lag) -> lags.put(task.toString(), lag));
        request.put("lags", lags);
        final Map<String, Integer> changed = new HashMap<>(load);
        final Map<String, Object> threads = new TreeMap<>();
        final JsonNode answer = ask(request, expected(() -> {
            final Object[] copied = arguments.clone();
            copied[4] = changed;
            ((Map<String, List<TaskId>>) original.call(copied))
                .forEach((consumer, tasks) -> threads.put(consumer, names(tasks)));
            return null;
        }, () -> threads));
        final Map<String, List<TaskId>> result = new HashMap<>();
        answer.required("assigned").fields().forEachRemaining(entry -> {
            final List<TaskId> tasks = tasks(entry.getValue());
            result.put(entry.getKey(), tasks);
            load.merge(entry.getKey(), tasks.size(), Integer::sum);
        });
        return result;
    }

    /** Returns what Kafka's code answers: what it assigned and what it returned, or the class of its exception. */
    private static Map<String, Object> expected(final Code code, final Supplier<Object> assigned) {
        final Map<String, Object> expected = new TreeMap<>();
        try {
            final Object result = code.run();
            expected.put("assigned", assigned.get());
            expected.put("result", result);
        } catch (final Throwable error) {
            expected.put("error", error.getClass().getName());
        }
        return expected;
    }

    private JsonNode ask(final Map<String, Object> request, final Map<String, Object> expected) throws Throwable {
        final JsonNode answer = program.answer(request);
        final Map<String, Object> compared = new LinkedHashMap<>();
        compared.put("method", request.get("method"));
        final boolean isEqual = MAPPER.writeValueAsString(expected).equals(answer.toString());
        compared.put("equal", isEqual);
        if (!isEqual) {
            compared.put("request", request);
            compared.put("expected", expected);
            compared.put("answer", answer);
        }
        if (!tests.isEmpty()) {
            ((List<Object>) test().get("answers")).add(compared);
        }
        if (answer.has("error")) {
            throw (Throwable) Class.forName(answer.get("error").textValue())
                .getConstructor(String.class).newInstance("answered by another program");
        }
        return answer;
    }

    private static Map<String, Object> stateOf(final ApplicationState state) {
        final Map<String, Object> racks = new LinkedHashMap<>();
        final List<Object> tasks = new ArrayList<>();
        for (final TaskInfo task : state.allTasks().values()) {
            final List<String> sources = new ArrayList<>();
            final List<String> changelogs = new ArrayList<>();
            task.topicPartitions().forEach(partition -> {
                final String name = partition.topicPartition().toString();
                if (partition.isSource()) {
                    sources.add(name);
                }
                if (partition.isChangelog()) {
                    changelogs.add(name);
                }
                partition.rackIds().ifPresent(ids -> racks.put(name, new ArrayList<>(ids)));
            });
            tasks.add(taskOf(task.id(), task.isStateful(), sources, changelogs));
        }
        final List<Object> clients = new ArrayList<>();
        for (final KafkaStreamsState client : state.kafkaStreamsStates(false).values()) {
            clients.add(clientOf(
                client.processId(), client.numProcessingThreads(), client.rackId().orElse(null), client.clientTags(),
                client.previousActiveTasks(), client.previousStandbyTasks(), Map.of()));
        }
        final AssignmentConfigs configs = state.assignmentConfigs();
        return stateOf(configs, configs.rackAwareAssignmentStrategy(), tasks, racks, clients);
    }

    private static Map<String, Object> stateOf(
        final Map<ProcessId, ClientState> clients,
        final Set<TaskId> all,
        final Set<TaskId> stateful,
        final RackAwareTaskAssignor rackAware,
        final AssignmentConfigs configs
    ) throws ReflectiveOperationException {
        final Map<String, Object> racks = new LinkedHashMap<>();
        Map<TaskId, Set<TopicPartition>> sources = Map.of();
        Map<TaskId, Set<TopicPartition>> changelogs = Map.of();
        Map<ProcessId, String> clientRacks = Map.of();
        if (rackAware != null) {
            sources = (Map<TaskId, Set<TopicPartition>>) read(rackAware, "partitionsForTask");
            changelogs = (Map<TaskId, Set<TopicPartition>>) read(rackAware, "changelogPartitionsForTask");
            clientRacks = rackAware.racksForProcess();
            rackAware.racksForPartition().forEach(
                (partition, ids) -> racks.put(partition.toString(), new ArrayList<>(ids)));
        }
        final List<Object> tasks = new ArrayList<>();
        for (final TaskId task : all) {
            tasks.add(taskOf(
                task, stateful.contains(task), strings(sources.get(task)), strings(changelogs.get(task))));
        }
        final List<Object> listed = new ArrayList<>();
        for (final Map.Entry<ProcessId, ClientState> entry : clients.entrySet()) {
            final ClientState client = entry.getValue();
            listed.add(clientOf(
                entry.getKey(), client.capacity(), clientRacks.get(entry.getKey()), client.clientTags(),
                client.prevActiveTasks(), client.prevStandbyTasks(), client.taskLagTotals()));
        }
        // The optimizer has configs of its own, from which it takes the strategy.
        final String strategy = rackAware == null ? "none"
            : ((AssignmentConfigs) read(rackAware, "assignmentConfigs")).rackAwareAssignmentStrategy();
        return stateOf(configs, strategy, tasks, racks, listed);
    }

    private static Map<String, Object> stateOf(
        final AssignmentConfigs configs,
        final String strategy,
        final List<Object> tasks,
        final Map<String, Object> racks,
        final List<Object> clients
    ) {
        final Map<String, Object> values = new LinkedHashMap<>();
        values.put("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        values.put("max_warmup_replicas", configs.maxWarmupReplicas());
        values.put("num_standby_replicas", configs.numStandbyReplicas());
        values.put("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
        values.put("rack_aware_assignment_tags", configs.rackAwareAssignmentTags());
        configs.rackAwareTrafficCost().ifPresent(cost -> values.put("rack_aware_traffic_cost", cost));
        configs.rackAwareNonOverlapCost().ifPresent(cost -> values.put("rack_aware_non_overlap_cost", cost));
        values.put("rack_aware_assignment_strategy", strategy);
        final Map<String, Object> state = new LinkedHashMap<>();
        state.put("configs", values);
        state.put("tasks", tasks);
        state.put("partition_racks", racks);
        state.put("clients", clients);
        return state;
    }

    private static Map<String, Object> taskOf(
        final TaskId id, final boolean stateful, final List<String> sources, final List<String> changelogs
    ) {
        return Map.of(
            "id", id.toString(), "stateful", stateful, "source_partitions", sources, "changelog_partitions", changelogs);
    }

    private static Map<String, Object> clientOf(
        final ProcessId id,
        final int threads,
        final String rack,
        final Map<String, String> tags,
        final Collection<TaskId> previousActive,
        final Collection<TaskId> previousStandby,
        final Map<TaskId, Long> lags
    ) {
        final Map<String, Object> client = new LinkedHashMap<>();
        client.put("process_id", id.toString());
        client.put("threads", threads);
        client.put("rack", rack);
        client.put("tags", tags);
        client.put("previous_active", names(previousActive));
        client.put("previous_standby", names(previousStandby));
        final Map<String, Long> named = new LinkedHashMap<>();
        lags.forEach((task, lag) -> named.put(task.toString(), lag));
        client.put("task_lags", named);
        return client;
    }

    private static List<String> strings(final Collection<?> values) {
        return values == null ? List.of() : values.stream().map(Objects::toString).toList();
    }

    private static List<String> names(final Collection<TaskId> tasks) {
        return strings(tasks);
    }

    private static List<TaskId> tasks(final JsonNode names) {
        final List<TaskId> tasks = new ArrayList<>();
        names.forEach(name -> tasks.add(TaskId.parse(name.textValue())));
        return tasks;
    }

    private static ProcessId processId(final String text) {
        return new ProcessId(UUID.fromString(text));
    }

    /** Reads a private field, also of a mock, whose class is a subclass; null if there is no such field. */
    private static Object read(final Object owner, final String name) throws IllegalAccessException {
        for (Class<?> type = owner.getClass(); type != null; type = type.getSuperclass()) {
            for (final Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(owner);
                }
            }
        }
        return null;
    }
}
