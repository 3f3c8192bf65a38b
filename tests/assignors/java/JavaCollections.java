import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.stream.Collectors;

/** Says in which order Java's own collections hand out what they hold: one case a line in, one order a line out. */
public class JavaCollections {

    record Key(int position, int hash) {
        @Override
        public int hashCode() {
            return hash;
        }
    }

    public static void main(final String[] arguments) throws Exception {
        final BufferedReader cases = new BufferedReader(new InputStreamReader(System.in));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            final String[] words = line.split(" ");
            final List<String> rest = Arrays.asList(words).subList(1, words.length);
            System.out.println(switch (words[0]) {
                case "map" -> map(keys(rest));
                case "computed" -> computed(Integer.parseInt(rest.get(0)), Integer.parseInt(rest.get(1)),
                    keys(rest.subList(2, rest.size())));
                case "copy" -> new HashSet<>(keys(rest)).stream().map(JavaCollections::name).collect(Collectors.joining(" "));
                case "steps" -> steps(Integer.parseInt(rest.get(0)), rest.subList(1, rest.size()));
                default -> queue(rest);
            });
        }
    }

    private static List<Key> keys(final List<String> hashes) {
        final List<Key> keys = new ArrayList<>();
        for (final String hash : hashes) {
            keys.add(new Key(keys.size(), Integer.parseUnsignedInt(hash)));
        }
        return keys;
    }

    private static String map(final List<Key> keys) {
        final Map<Key, Boolean> map = new HashMap<>();
        keys.forEach(key -> map.put(key, true));
        return map.keySet().stream().map(JavaCollections::name).collect(Collectors.joining(" "));
    }

    private static String computed(final int capacity, final int repetitions, final List<Key> keys) {
        final Map<Key, Boolean> map = new HashMap<>(capacity);
        keys.forEach(key -> map.computeIfAbsent(key, added -> true));
        for (int repetition = 0; repetition < repetitions; repetition++) {
            map.computeIfAbsent(keys.get(0), added -> true);
        }
        return map.keySet().stream().map(JavaCollections::name).collect(Collectors.joining(" "));
    }

    /** Puts (p), computes (c) and removes (r) keys, each given as position:hash. */
    private static String steps(final int capacity, final List<String> operations) {
        final Map<Key, Boolean> map = new HashMap<>(capacity);
        for (final String operation : operations) {
            final String[] parts = operation.split(":");
            final Key key = new Key(Integer.parseInt(parts[1]), Integer.parseUnsignedInt(parts[2]));
            switch (parts[0]) {
                case "p" -> map.put(key, true);
                case "c" -> map.computeIfAbsent(key, added -> true);
                default -> map.remove(key);
            }
        }
        return map.keySet().stream().map(JavaCollections::name).collect(Collectors.joining(" "));
    }

    private static String name(final Key key) {
        return String.valueOf(key.position());
    }

    private static String queue(final List<String> operations) {
        final Map<Integer, Integer> loads = new HashMap<>();
        final PriorityQueue<Integer> queue = new PriorityQueue<>(
            Comparator.<Integer, Integer>comparing(loads::get).thenComparing(element -> element / 2));
        final List<String> polled = new ArrayList<>();
        for (final String operation : operations) {
            final String[] parts = operation.split(":");
            switch (parts[0]) {
                case "load" -> loads.put(Integer.valueOf(parts[1]), Integer.valueOf(parts[2]));
                case "offer" -> queue.offer(Integer.valueOf(parts[1]));
                case "remove" -> queue.remove(Integer.valueOf(parts[1]));
                default -> polled.add(String.valueOf(queue.poll()));
            }
        }
        return String.join(" ", polled);
    }
}
