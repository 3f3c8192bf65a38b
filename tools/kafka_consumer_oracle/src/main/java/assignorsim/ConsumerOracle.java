package assignorsim;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Runs Kafka's consumer partition assignors: reads one problem per line (docs/reference/problems.md) from standard input
 * and writes {@code {"assignment": {member: [partition, …]}, "error": null}}, partitions in the order of Kafka's answer.
 */
public final class ConsumerOracle {

    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    /** Far more than any assignment takes, but for an endless loop. */
    private static final long LIMIT_S = 40;

    private ConsumerOracle() { }

    public static void main(final String[] args) throws Exception {
        final ObjectMapper mapper = new ObjectMapper();
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        final InputStreamReader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        try (BufferedReader reader = new BufferedReader(input)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                out.println(mapper.writeValueAsString(answerInTime(mapper.readTree(line))));
            }
        }
        out.flush();
    }

    /** Kafka's sticky assignors do not return for some groups. */
    @SuppressWarnings({"deprecation", "removal"})
    private static ObjectNode answerInTime(final JsonNode problem) throws Exception {
        final FutureTask<ObjectNode> task = new FutureTask<>(() -> answer(problem));
        final Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(LIMIT_S, TimeUnit.SECONDS);
        } catch (final TimeoutException endless) {
            try {
                thread.stop();
            } catch (final UnsupportedOperationException newerJava) {
                System.err.println("cannot stop the assignor before the program ends");
            }
            return JSON.objectNode().putNull("assignment").put("error", "endless loop");
        }
    }

    private static ObjectNode answer(final JsonNode problem) throws Exception {
        final ObjectNode answer = JSON.objectNode();
        try {
            final Map<String, List<String>> assigned = ReleasedConsumerAssignors.assign(problem);
            final ObjectNode assignment = answer.putObject("assignment");
            for (final JsonNode member : problem.required("members")) {
                final ArrayNode partitions = assignment.putArray(member.required("id").asText());
                assigned.getOrDefault(member.required("id").asText(), List.of()).forEach(partitions::add);
            }
            answer.putNull("error");
        } catch (final RuntimeException error) {
            answer.putNull("assignment").put("error", error.getClass().getName());
        }
        return answer;
    }
}
