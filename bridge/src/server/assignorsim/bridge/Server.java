package assignorsim.bridge;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;

/**
 * Answers requests on standard input until it is closed; each message is JSON after its length, a big-endian int.
 *
 * <p>{@code {"kind": "load", "name": …, "classes": [jar or folder, …], "class": …, "interface": "streams" or
 * "coordinator"}} loads an assignor, and {@code {"kind": "assign", "name": …, …}} calls it. Assignors with equal
 * {@code classes} share a class loader, others share nothing. Standard output belongs to the answers, so what
 * assignors print appears on standard error.
 */
public final class Server {

    private final String jar;
    private final Map<List<?>, ClassLoader> loaders = new HashMap<>();
    private final Map<String, ClassLoader> loaderOfAssignor = new HashMap<>();
    private final Map<String, Function<Map<String, Object>, Map<String, Object>>> assignors = new HashMap<>();

    private Server(final String jar) {
        this.jar = jar;
    }

    public static void main(final String[] args) throws Exception {
        final DataOutputStream answers = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        final DataInputStream input = new DataInputStream(new FileInputStream(FileDescriptor.in));
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        final BlockingQueue<byte[]> requests = new LinkedBlockingQueue<>();
        final Thread reader = new Thread(() -> readAll(input, requests), "requests");
        reader.setDaemon(true);
        reader.start();
        send(answers, Json.write(Map.of("java", Runtime.version().toString())));
        final Server server = new Server(args[0]);
        while (true) {
            send(answers, server.answer(requests.take()));
        }
    }

    /** Ends the JVM when the process that started it has closed the pipe, also while an assignor runs. */
    private static void readAll(final DataInputStream input, final BlockingQueue<byte[]> requests) {
        try {
            while (true) {
                final byte[] request = new byte[input.readInt()];
                input.readFully(request);
                requests.add(request);
            }
        } catch (final IOException closed) {
            Runtime.getRuntime().halt(0);
        }
    }

    private static void send(final DataOutputStream answers, final byte[] message) throws IOException {
        final byte[] frame = new byte[message.length + Integer.BYTES];
        for (int i = 0; i < Integer.BYTES; i++) {
            frame[i] = (byte) (message.length >>> (8 * (Integer.BYTES - 1 - i)));
        }
        System.arraycopy(message, 0, frame, Integer.BYTES, message.length);
        answers.write(frame);
        answers.flush();
    }

    @SuppressWarnings("unchecked")
    private byte[] answer(final byte[] message) {
        try {
            final Map<String, Object> request = (Map<String, Object>) Json.parse(message);
            return Json.write(switch ((String) request.get("kind")) {
                case "load" -> load(request);
                case "assign" -> assignor(request).apply(request);
                case "sequences" -> Sequences.run(assignor(request), request);
                case "time" -> Timing.run(assignor(request), request);
                default -> Map.of("peak_heap_bytes", peakHeapBytes());
            });
        } catch (final Throwable error) {
            return Json.write(Map.of("error", describe(error)));
        }
    }

    private Function<Map<String, Object>, Map<String, Object>> assignor(final Map<String, Object> request) {
        final String name = (String) request.get("name");
        // Kafka finds the default classes of its configs by this loader; those of other jars are not its own.
        Thread.currentThread().setContextClassLoader(loaderOfAssignor.get(name));
        return assignors.get(name);
    }

    private Map<String, Object> load(final Map<String, Object> request) throws Throwable {
        final List<?> classes = (List<?>) request.get("classes");
        ClassLoader loader = loaders.get(classes);
        if (loader == null) {
            final List<String> paths = new ArrayList<>();
            paths.add(jar);
            classes.forEach(path -> paths.add((String) path));
            loader = ClassLoaders.of(paths);
            loaders.put(classes, loader);
        }
        Thread.currentThread().setContextClassLoader(loader);
        final String name = (String) request.get("class");
        assignors.put((String) request.get("name"), ClassLoaders.assignor(loader, (String) request.get("interface"), name));
        loaderOfAssignor.put((String) request.get("name"), loader);
        return Map.of("class", name);
    }

    private static Map<String, Object> describe(final Throwable error) {
        final Map<String, Object> described = new HashMap<>();
        described.put("class", error.getClass().getName());
        described.put("message", error.getMessage());
        described.put("at", location(error.getStackTrace()));
        return described;
    }

    /** Returns the innermost line of the user's code, or else of any code; null if there is none. */
    private static String location(final StackTraceElement[] trace) {
        for (final StackTraceElement frame : trace) {
            if (!frame.getClassName().matches("(java|jdk|sun|org\\.apache\\.kafka|assignorsim\\.bridge)\\..*")) {
                return frame.getFileName() + ":" + frame.getLineNumber();
            }
        }
        return trace.length == 0 ? null : trace[0].getFileName() + ":" + trace[0].getLineNumber();
    }

    private static long peakHeapBytes() {
        long bytes = 0;
        for (final MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) {
                bytes += pool.getPeakUsage().getUsed();
            }
        }
        return bytes;
    }
}
