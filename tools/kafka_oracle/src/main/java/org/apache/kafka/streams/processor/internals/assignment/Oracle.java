package org.apache.kafka.streams.processor.internals.assignment;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;

/**
 * Runs Kafka's own assignors: reads one problem per line from standard input and writes one answer per line.
 *
 * <p>{@code answer}: the answers in both orders, {@code {"sorted": …, "production": …}}.
 * {@code time RUNS BUDGET_MS LIMIT_MS}: {@code {"id": …, "java": …, "nanos": [one number per run]}}, with hash
 * collections; no run starts after the budget is spent, and a run that exceeds the limit is the last one and is not in
 * the list. It continues in the background, so that only the first problem of a process is timed undisturbed.
 *
 * <p>It exits immediately when standard input is closed; the caller must keep it open until the last answer.
 */
public final class Oracle {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** Time to build the input of a run, which is not measured. */
    private static final long BUILDING_MS = 1_000;

    private Oracle() { }

    public static void main(final String[] args) throws Exception {
        final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        final Thread reader = new Thread(() -> readAll(lines), "problems");
        reader.setDaemon(true);
        reader.start();
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        while (true) {
            final JsonNode line = MAPPER.readTree(lines.take());
            final Problem problem = new Problem(line.path("problem").isObject() ? line.path("problem") : line);
            out.println(MAPPER.writeValueAsString(answer(args, problem)));
            out.flush();
        }
    }

    private static ObjectNode answer(final String[] args, final Problem problem)
        throws InterruptedException, ExecutionException {
        if (args[0].equals("time")) {
            return time(problem, Integer.parseInt(args[1]), Long.parseLong(args[2]), Long.parseLong(args[3]));
        }
        final ObjectNode both = JsonNodeFactory.instance.objectNode();
        both.set("sorted", Answer.to(problem, ListingOrder.SORTED));
        both.set("production", Answer.to(problem, ListingOrder.PRODUCTION));
        return both;
    }

    private static ObjectNode time(
        final Problem problem, final int runs, final long budgetMs, final long limitMs
    ) throws InterruptedException, ExecutionException {
        final Assignor assignor = Assignor.named(problem.assignor);
        final AssignmentConfigs configs = problem.configs();
        final String java = System.getProperty("java.vm.name") + " " + Runtime.version();
        final ObjectNode timed = JsonNodeFactory.instance.objectNode().put("id", problem.id).put("java", java);
        final ArrayNode nanos = timed.putArray("nanos");
        long spent = 0;
        for (int run = 0; run < runs && spent < budgetMs * 1_000_000L; run++) {
            final FutureTask<Long> assignment =
                new FutureTask<>(() -> assignor.assign(problem, configs, ListingOrder.PRODUCTION).nanos());
            final Thread thread = new Thread(assignment, "assignment");
            thread.setDaemon(true);
            thread.start();
            try {
                final long took = assignment.get(limitMs + BUILDING_MS, TimeUnit.MILLISECONDS);
                nanos.add(took);
                spent += took;
            } catch (final TimeoutException over) {
                break;
            }
        }
        return timed;
    }

    private static void readAll(final BlockingQueue<String> lines) {
        final InputStreamReader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        try (BufferedReader reader = new BufferedReader(input)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(line);
            }
        } catch (final IOException closed) {
            // The same as end of input: the starting process has exited.
        }
        Runtime.getRuntime().halt(0);
    }
}
