package assignorsim.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Times an assignor by the rules of JMH: it calls it until it is warm, and then in iterations of a given time.
 *
 * <p>{@code {"kind": "time", "name": …, "problem": request to assign, "warmup_ms": …, "iterations": …,
 * "iteration_ms": …}}. The answer has calls, nanoseconds and bytes of each iteration. Only the assignor counts, and not
 * that Kafka's objects are built from the request for each call.
 */
final class Timing {

    private Timing() { }

    @SuppressWarnings("unchecked")
    static Map<String, Object> run(
        final Function<Map<String, Object>, Map<String, Object>> assignor, final Map<String, Object> request
    ) {
        final Map<String, Object> problem = (Map<String, Object>) request.get("problem");
        repeat(assignor, problem, (Long) request.get("warmup_ms"));
        final List<Object> iterations = new ArrayList<>();
        for (long number = 0; number < (Long) request.get("iterations"); number++) {
            iterations.add(repeat(assignor, problem, (Long) request.get("iteration_ms")));
        }
        return Map.of("iterations", iterations);
    }

    /** Calls the assignor at least once, until it has worked for a time; with an end for one that hardly works. */
    private static List<Long> repeat(
        final Function<Map<String, Object>, Map<String, Object>> assignor,
        final Map<String, Object> problem,
        final long milliseconds
    ) {
        final long limit = milliseconds * 1_000_000L;
        final long started = System.nanoTime();
        long calls = 0;
        long nanos = 0;
        long bytes = 0;
        do {
            final Map<String, Object> answer = assignor.apply(problem);
            nanos += (Long) answer.get("nanos");
            bytes += (Long) answer.get("bytes");
            calls++;
        } while (nanos < limit && System.nanoTime() - started < 2 * limit);
        return List.of(calls, nanos, bytes);
    }
}
