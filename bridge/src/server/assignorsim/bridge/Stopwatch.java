package assignorsim.bridge;

import java.lang.management.ManagementFactory;
import java.util.Map;

/** The time that an assignor takes, and what its thread allocates on the heap meanwhile. */
public final class Stopwatch {

    private static final java.lang.management.ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long startBytes = allocatedBytes();
    private final long startNanos = System.nanoTime();
    private long nanos;
    private long bytes;

    /** Ends the measurement. */
    public void stop() {
        nanos = System.nanoTime() - startNanos;
        bytes = allocatedBytes() - startBytes;
    }

    /** Puts the nanoseconds, and the bytes, into an answer. */
    public void putInto(final Map<String, Object> answer) {
        answer.put("nanos", nanos);
        answer.put("bytes", bytes);
    }

    /** Returns 0 with a virtual machine that does not count them. */
    private static long allocatedBytes() {
        return THREADS instanceof com.sun.management.ThreadMXBean
            ? ((com.sun.management.ThreadMXBean) THREADS).getCurrentThreadAllocatedBytes() : 0;
    }
}
