package assignorsim;

import java.io.IOException;
import java.util.Arrays;

/**
 * Runs another class's {@code main} and exits as soon as standard input is closed.
 *
 * <p>The starting process holds the other end of standard input, so the program cannot outlive it, however it exits.
 */
public final class Tethered {

    private Tethered() { }

    /** Runs {@code args[0]} with the remaining arguments. */
    public static void main(final String[] args) throws ReflectiveOperationException {
        final Thread watch = new Thread(Tethered::exitAtEndOfInput, "tether");
        watch.setDaemon(true);
        watch.start();
        final String[] rest = Arrays.copyOfRange(args, 1, args.length);
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }

    private static void exitAtEndOfInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (final IOException closed) {
            // The same as end of input: the starting process has exited.
        }
        System.exit(1);
    }
}
