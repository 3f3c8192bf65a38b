package assignorsim.bridge.replay;

import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Random;

/** The source of random numbers of the JVM, so that the coordinator makes the same member ids each time. */
public final class SeededRandom extends SecureRandomSpi {
    private static final long serialVersionUID = 1;
    private static final Random RANDOM = new Random();

    /** Makes this the source; before any other class takes a random number. */
    static void install() {
        final class Seeded extends Provider {
            private static final long serialVersionUID = 1;

            private Seeded() {
                super("Seeded", "1", "the same numbers each time");
                put("SecureRandom.Seeded", SeededRandom.class.getName());
            }
        }
        Security.insertProviderAt(new Seeded(), 1);
    }

    static void restart() {
        RANDOM.setSeed(0);
    }

    @Override
    protected void engineSetSeed(final byte[] seed) { }

    @Override
    protected void engineNextBytes(final byte[] bytes) {
        RANDOM.nextBytes(bytes);
    }

    @Override
    protected byte[] engineGenerateSeed(final int size) {
        final byte[] bytes = new byte[size];
        RANDOM.nextBytes(bytes);
        return bytes;
    }
}
