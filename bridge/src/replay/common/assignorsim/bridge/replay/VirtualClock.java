package assignorsim.bridge.replay;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/**
 * A clock that jumps from event to event.
 *
 * <p>In one millisecond, the timers of the coordinator come first; otherwise, events happen as they were added.
 */
final class VirtualClock implements Time {
    /** An event; a cancelled one does nothing. */
    static final class Event {
        private final long atMs;
        private final boolean isTimer;
        private final long number;
        private final Runnable action;
        private boolean isCancelled;

        private Event(final long atMs, final boolean isTimer, final long number, final Runnable action) {
            this.atMs = atMs;
            this.isTimer = isTimer;
            this.number = number;
            this.action = action;
        }

        void cancel() {
            isCancelled = true;
        }
    }

    private final PriorityQueue<Event> events =
        new PriorityQueue<>(Comparator.<Event>comparingLong(event -> event.atMs)
            .thenComparing(event -> !event.isTimer)
            .thenComparingLong(event -> event.number));
    private long nowMs;
    private long count;

    Event at(final long atMs, final Runnable action) {
        return add(new Event(Math.max(atMs, nowMs), false, count++, action));
    }

    /** Adds a timer of the coordinator. */
    Event timer(final long delayMs, final Runnable action) {
        return add(new Event(nowMs + delayMs, true, count++, action));
    }

    private Event add(final Event event) {
        events.add(event);
        return event;
    }

    Event in(final long delayMs, final Runnable action) {
        return at(nowMs + delayMs, action);
    }

    void runUntil(final long endMs) {
        while (!events.isEmpty() && events.peek().atMs <= endMs) {
            final Event event = events.poll();
            if (!event.isCancelled) {
                nowMs = event.atMs;
                event.action.run();
            }
        }
    }

    @Override
    public long milliseconds() {
        return nowMs;
    }

    @Override
    public long nanoseconds() {
        return nowMs * 1_000_000;
    }

    @Override
    public void sleep(final long ms) {
        throw new UnsupportedOperationException("nothing waits on a virtual clock");
    }

    @Override
    public void waitObject(final Object object, final Supplier<Boolean> condition, final long deadlineMs) {
        throw new UnsupportedOperationException("nothing waits on a virtual clock");
    }
}
