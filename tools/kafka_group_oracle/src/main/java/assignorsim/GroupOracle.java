package assignorsim;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.errors.ApiException;

/**
 * Runs the task assignor of Kafka's group coordinator: reads one problem per line (docs/reference/problems.md) from
 * standard input and writes {@code {"sorted": …, "production": …}}: with sorted members, and with a hash map. The class
 * of a custom assignor may be the only argument.
 */
public final class GroupOracle {

    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private GroupOracle() { }

    public static void main(final String[] args) throws Exception {
        final ReleasedAssignor assignor = new ReleasedAssignor(args.length == 0 ? "" : args[0]);
        final ObjectMapper mapper = new ObjectMapper();
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        final InputStreamReader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        try (BufferedReader reader = new BufferedReader(input)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                final JsonNode problem = mapper.readTree(line);
                final ObjectNode both = JSON.objectNode();
                both.set("sorted", answer(assignor, problem, false));
                both.set("production", answer(assignor, problem, true));
                out.println(mapper.writeValueAsString(both));
            }
        }
        out.flush();
    }

    private static ObjectNode answer(
        final ReleasedAssignor assignor, final JsonNode problem, final boolean inHashOrder
    ) {
        final GroupTopology topology = new GroupTopology(problem.required("tasks"));
        final Map<String, GroupMember> group = GroupMembers.of(problem.required("clients"), topology);
        final ObjectNode answer = JSON.objectNode().put("id", problem.path("id").asText());
        try {
            final Map<String, GroupTasks> members =
                assignor.assign(group, inHashOrder, topology, configs(problem.path("configs")));
            final ObjectNode assignment = answer.putObject("assignment");
            for (final JsonNode client : problem.required("clients")) {
                putClient(assignment, client.required("process_id").asText(), group, members);
            }
            answer.put("probing_rebalance", false).putNull("error");
        } catch (final ApiException error) {
            // Each release has this class in another package.
            if (!error.getClass().getSimpleName().equals("TaskAssignorException")) {
                throw error;
            }
            answer.putNull("assignment").put("probing_rebalance", false);
            answer.put("error", error.getClass().getName() + ": " + error.getMessage());
        }
        return answer;
    }

    private static Map<String, String> configs(final JsonNode configs) {
        final List<String> tags = new ArrayList<>();
        configs.path("rack_aware_assignment_tags").forEach(tag -> tags.add(tag.asText()));
        return Map.of(
            "num.standby.replicas", Integer.toString(configs.path("num_standby_replicas").asInt(0)),
            "rack.aware.assignment.tags", String.join(",", tags));
    }

    private static void putClient(
        final ObjectNode assignment,
        final String processId,
        final Map<String, GroupMember> group,
        final Map<String, GroupTasks> members
    ) {
        final TreeMap<Integer, Set<Integer>> active = new TreeMap<>();
        final TreeMap<Integer, Set<Integer>> standby = new TreeMap<>();
        members.forEach((memberId, tasks) -> {
            if (group.get(memberId).processId().equals(processId)) {
                add(active, tasks.active());
                add(standby, tasks.standby());
            }
        });
        final ObjectNode client = assignment.putObject(processId);
        client.set("active", names(active));
        client.set("standby", names(standby));
    }

    /** @throws IllegalStateException the process already has the task. */
    private static void add(final Map<Integer, Set<Integer>> held, final Map<String, Set<Integer>> given) {
        given.forEach((subtopology, partitions) -> {
            final Set<Integer> numbers = held.computeIfAbsent(Integer.valueOf(subtopology), added -> new TreeSet<>());
            for (final Integer partition : partitions) {
                if (!numbers.add(partition)) {
                    throw new IllegalStateException("a process has task " + subtopology + "_" + partition + " twice");
                }
            }
        });
    }

    private static ArrayNode names(final Map<Integer, Set<Integer>> held) {
        final ArrayNode names = JSON.arrayNode();
        held.forEach((subtopology, partitions) ->
            partitions.forEach(partition -> names.add(subtopology + "_" + partition)));
        return names;
    }
}
