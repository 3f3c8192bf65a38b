package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import assignorsim.bridge.Stopwatch;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;

/**
 * An assignor of Kafka Streams: a {@code TaskAssignor} (KIP-924), or one of Kafka's own that are not public.
 *
 * <p>It is in Kafka's package because Kafka's objects have package-private constructors.
 */
public final class BridgedAssignor implements Function<Map<String, Object>, Map<String, Object>> {

    /** Computes an answer: entries of clients, and the nanoseconds that the assignor took. */
    interface Adapter {
        Map<String, Object> assign(BridgeRequest request);
    }

    private final Adapter adapter;

    /** @throws ReflectiveOperationException the class cannot be loaded or instantiated. */
    public BridgedAssignor(final String name) throws ReflectiveOperationException {
        final Class<?> loaded = Class.forName(name);
        if (TaskAssignor.class.isAssignableFrom(loaded)) {
            adapter = new PluggableAdapter(loaded.asSubclass(TaskAssignor.class));
        } else if (LegacyTaskAssignor.class.isAssignableFrom(loaded)) {
            adapter = new LegacyAdapter(loaded.asSubclass(LegacyTaskAssignor.class));
        } else {
            throw new ClassCastException("does not implement " + TaskAssignor.class.getName());
        }
    }

    @Override
    public Map<String, Object> apply(final Map<String, Object> request) {
        return adapter.assign(new BridgeRequest(request));
    }

    /** Returns the entry of a client: its id, its tasks by role, and the delay of a follow-up rebalance. */
    static List<Object> entry(
        final Object processId, final Iterable<TaskId> active, final Iterable<TaskId> standby, final Long delayMs
    ) {
        final List<Object> entry = new ArrayList<>();
        entry.add(processId.toString());
        entry.add(active);
        entry.add(standby);
        entry.add(delayMs);
        return entry;
    }

    static Map<String, Object> answer(final List<Object> clients, final Stopwatch stopwatch) {
        final Map<String, Object> answer = new HashMap<>();
        answer.put("clients", clients);
        stopwatch.putInto(answer);
        return answer;
    }

    /** Returns a new instance, also of a class that is not public. */
    static <T> T instantiate(final Class<T> assignor) throws ReflectiveOperationException {
        final var constructor = assignor.getDeclaredConstructor();
        constructor.setAccessible(true);
        try {
            return constructor.newInstance();
        } catch (final java.lang.reflect.InvocationTargetException error) {
            throw BridgedAssignor.<RuntimeException>unchecked(error.getCause());
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(final Throwable error) throws E {
        throw (E) error;
    }
}
