package org.apache.kafka.streams.processor.internals.assignment;

import java.time.Instant;

/** Deadlines of follow-up rebalances, which are points in time, as delays. */
final class FollowupDelay {

    private static final long[] UNITS_MS = {60_000, 10_000, 1_000, 100, 10, 1};

    private FollowupDelay() { }

    /**
     * Returns the delay of a deadline.
     *
     * <p>An assignor adds a delay to the time at which it reads the clock, which is at any point of the call. Of the
     * delays that this allows, the probing interval is preferred, then the one in the coarsest unit, so that the answer
     * does not depend on the duration of the call.
     *
     * @param before a time before the call, in milliseconds
     * @param after a time after the call
     */
    static long of(final Instant deadline, final long before, final long after, final long probingIntervalMs) {
        if (deadline.isBefore(Instant.ofEpochMilli(after))) {
            return 0; // At once.
        }
        final long longest = Math.max(0, deadline.toEpochMilli() - before);
        final long shortest = Math.max(0, deadline.toEpochMilli() - after);
        if (shortest <= probingIntervalMs && probingIntervalMs <= longest) {
            return probingIntervalMs;
        }
        for (final long unit : UNITS_MS) {
            final long rounded = longest / unit * unit;
            if (rounded >= shortest && (rounded > 0 || longest == 0)) {
                return rounded;
            }
        }
        return longest;
    }
}
