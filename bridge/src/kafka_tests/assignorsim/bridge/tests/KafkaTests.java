package assignorsim.bridge.tests;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import com.fasterxml.jackson.databind.ObjectMapper;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.implementation.bind.annotation.Morph;
import net.bytebuddy.pool.TypePool;
import org.apache.kafka.streams.processor.internals.assignment.Answers;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import static net.bytebuddy.matcher.ElementMatchers.isDeclaredBy;
import static net.bytebuddy.matcher.ElementMatchers.isSynthetic;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.not;

/**
 * Runs Kafka's own unit tests of assignment with another program's answers.
 *
 * <p>Arguments: an empty folder that is on the class path before Kafka's jars, and the names of test classes, of which
 * a release need not have all. The folder gets Kafka's released classes with one change: the methods of {@link #ANSWERED} keep their code under another
 * name, and call {@link Answers}. That asks the other program with a line of JSON on standard output, and reads a line
 * from standard input. The last line has no {@code "method"} but the result of each test.
 */
public final class KafkaTests {

    private static final String INTERNALS = "org.apache.kafka.streams.processor.internals.";
    private static final String ANSWERS = INTERNALS + "assignment.Answers";
    private static final String PLUGGABLE = "org.apache.kafka.streams.processor.assignment.";

    /** Methods that the other program answers, by class; a release need not have all classes. */
    private static final Map<String, List<String>> ANSWERED = Map.of(
        INTERNALS + "assignment.HighAvailabilityTaskAssignor", List.of("assign"),
        INTERNALS + "assignment.LegacyStickyTaskAssignor", List.of("assign"),
        INTERNALS + "assignment.StickyTaskAssignor", List.of("assign"), // before 4.0
        INTERNALS + "assignment.FallbackPriorTaskAssignor", List.of("assign"),
        INTERNALS + "assignment.DefaultStandbyTaskAssignor", List.of("assign"),
        INTERNALS + "assignment.ClientTagAwareStandbyTaskAssignor", List.of("assign"),
        INTERNALS + "assignment.RackAwareTaskAssignor",
            List.of("optimizeActiveTasks", "optimizeStandbyTasks", "activeTasksCost", "standByTasksCost"),
        INTERNALS + "StreamsPartitionAssignor", List.of("assignTasksToThreads"),
        PLUGGABLE + "assignors.StickyTaskAssignor", List.of("assign"),
        PLUGGABLE + "TaskAssignmentUtils",
            List.of("defaultStandbyTaskAssignment", "optimizeRackAwareActiveTasks", "optimizeRackAwareStandbyTasks")
    );

    private KafkaTests() { }

    public static void main(final String[] args) throws IOException {
        final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        final Thread reader = new Thread(() -> readAll(lines), "answers");
        reader.setDaemon(true);
        reader.start();
        divert(new File(args[0]));
        final ObjectMapper mapper = new ObjectMapper();
        final Answers answers = Answers.from(request -> {
            out.println(mapper.writeValueAsString(request));
            return mapper.readTree(lines.take());
        });
        final LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
            .selectors(List.of(args).subList(1, args.length).stream()
                .filter(name -> ClassLoader.getSystemResource(name.replace('.', '/') + ".class") != null)
                .map(DiscoverySelectors::selectClass).toList())
            .configurationParameter("junit.jupiter.execution.timeout.mode", "disabled") // Nothing is judged by clocks.
            .build();
        LauncherFactory.create().execute(request, new TestExecutionListener() {
            @Override
            public void executionStarted(final TestIdentifier test) {
                if (test.isTest()) {
                    answers.begin(className(test), test.getUniqueId());
                }
            }

            @Override
            public void executionFinished(final TestIdentifier test, final TestExecutionResult result) {
                if (test.isTest()) {
                    answers.end(result.getStatus().toString(), result.getThrowable().map(Throwable::toString).orElse(null));
                }
            }
        });
        out.println(mapper.writeValueAsString(Map.of("tests", answers.tests())));
    }

    /** Ends the JVM when the process that started it has closed the pipe, also while a test runs. */
    private static void readAll(final BlockingQueue<String> lines) {
        final BufferedReader in = new BufferedReader(
            new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (final IOException closed) {
            // As if it had ended.
        }
        Runtime.getRuntime().halt(1);
    }

    private static String className(final TestIdentifier test) {
        return test.getSource().filter(MethodSource.class::isInstance)
            .map(source -> ((MethodSource) source).getClassName()).orElse("");
    }

    private static void divert(final File folder) throws IOException {
        final ClassFileLocator locator = ClassFileLocator.ForClassLoader.ofSystemLoader();
        // Descriptions, because classes of Kafka in the signatures of loaded ones would be loaded, too.
        final TypePool types = TypePool.Default.of(locator);
        final TypeDescription answers = types.describe(ANSWERS).resolve();
        final TypeDescription original = types.describe(ANSWERS + "$Original").resolve();
        for (final Map.Entry<String, List<String>> entry : ANSWERED.entrySet()) {
            final TypePool.Resolution found = types.describe(entry.getKey());
            if (found.isResolved()) {
                final TypeDescription type = found.resolve();
                new ByteBuddy().with(TypeValidation.DISABLED)
                    .rebase(type, locator)
                    .method(isDeclaredBy(type).and(not(isSynthetic()))
                        .and(namedOneOf(entry.getValue().toArray(String[]::new))))
                    .intercept(MethodDelegation.withDefaultConfiguration()
                        .withBinders(Morph.Binder.install(original))
                        .to(answers))
                    .make()
                    .saveIn(folder);
            }
        }
    }
}
