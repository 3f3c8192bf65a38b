package assignorsim.bridge;

import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Loads assignors together with the Kafka that they were built for, apart from all others. */
final class ClassLoaders {

    private static final String STREAMS = "org.apache.kafka.streams.processor.internals.assignment.BridgedAssignor";
    private static final String COORDINATOR_API = "org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor";
    private static final String FROM_4_4 = "assignorsim.bridge.from_4_4.GroupAssignor";
    private static final String BEFORE_4_4 = "assignorsim.bridge.before_4_4.GroupAssignor";

    private ClassLoaders() { }

    /** Returns a class loader of jars and class folders. */
    static ClassLoader of(final List<String> paths) throws MalformedURLException {
        final URL[] urls = new URL[paths.size()];
        for (int i = 0; i < urls.length; i++) {
            urls[i] = Path.of(paths.get(i)).toUri().toURL();
        }
        return new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    }

    /** Returns an assignor as a function from requests to answers. */
    @SuppressWarnings("unchecked")
    static Function<Map<String, Object>, Map<String, Object>> assignor(
        final ClassLoader loader, final String interfaces, final String name
    ) throws Throwable {
        final String adapter;
        if (interfaces.equals("streams")) {
            adapter = STREAMS;
        } else {
            adapter = loader.getResource(COORDINATOR_API.replace('.', '/') + ".class") == null ? BEFORE_4_4 : FROM_4_4;
        }
        startLogging(loader);
        try {
            return (Function<Map<String, Object>, Map<String, Object>>)
                Class.forName(adapter, true, loader).getConstructor(String.class).newInstance(name);
        } catch (final InvocationTargetException error) {
            throw error.getCause();
        }
    }

    /**
     * Initializes logging, without the lines that SLF4J prints if there is nothing to log to.
     *
     * <p>A backend on the class path of an assignor is used.
     */
    private static void startLogging(final ClassLoader loader) {
        final PrintStream errors = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        try {
            Class.forName("org.slf4j.LoggerFactory", true, loader).getMethod("getILoggerFactory").invoke(null);
        } catch (final ReflectiveOperationException | LinkageError withoutLogging) {
            // The assignor fails with a better message if it needs SLF4J.
        } finally {
            System.setErr(errors);
        }
    }
}
