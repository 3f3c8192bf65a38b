package assignorsim.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Rebalances of an application whose processes join and leave, without a message for each.
 *
 * <p>The counterpart of {@code assignors/sequences.py}, with the same outcomes.
 */
abstract class Sequences {

    static final int ACTIVE = 0;
    static final int STANDBY = 1;

    /** An answer that Kafka would not accept, or none. */
    static final class Invalid extends Exception {
        private static final long serialVersionUID = 1;
    }

    final Function<Map<String, Object>, Map<String, Object>> assignor;
    final Map<String, Object> sequence;
    final Set<String> violated = new TreeSet<>();

    Sequences(final Function<Map<String, Object>, Map<String, Object>> assignor, final Map<String, Object> sequence) {
        this.assignor = assignor;
        this.sequence = sequence;
    }

    /** Returns the outcome of each sequence: the violated invariants, and the tasks above an even share. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> run(
        final Function<Map<String, Object>, Map<String, Object>> assignor, final Map<String, Object> request
    ) {
        final long unchangedRounds = (Long) request.get("unchanged_rounds");
        final List<Object> outcomes = new ArrayList<>();
        for (final Map<String, Object> sequence : (List<Map<String, Object>>) request.get("sequences")) {
            final Sequences one = sequence.containsKey("members")
                ? new GroupSequence(assignor, sequence) : new ClientSequence(assignor, sequence);
            one.run(unchangedRounds);
            outcomes.add(List.of(one.violated, one.uneven(false), one.uneven(true)));
        }
        return Map.of("outcomes", outcomes);
    }

    @SuppressWarnings("unchecked")
    private void run(final long unchangedRounds) {
        try {
            List<Long> present = List.of();
            for (final List<Long> places : (List<List<Long>>) sequence.get("rounds")) {
                rebalance(places);
                present = places;
            }
            final List<Object> answers = new ArrayList<>();
            for (int round = 0; round < unchangedRounds; round++) {
                final boolean isUnfinished = hasFollowup();
                answers.add(tasks());
                rebalance(present);
                if (tasks().equals(answers.get(round))) {
                    return;
                }
                if (!isUnfinished) {
                    violated.add("idempotent");
                }
                if (answers.contains(tasks())) {
                    violated.add("no_oscillation");
                    return;
                }
            }
            violated.add("converges");
        } catch (final Invalid | RuntimeException | StackOverflowError error) {
            violated.add("valid");
        }
    }

    /** Lets the assignor assign the tasks of those who are present, who have what the last rebalance gave to them. */
    abstract void rebalance(List<Long> places) throws Invalid;

    /** Returns the tasks of the last rebalance, which equal those of another rebalance if it changes nothing. */
    abstract Object tasks();

    /** Returns whether the last rebalance asked for another one. */
    abstract boolean hasFollowup();

    /** Returns the number of active tasks above an even share of the threads. */
    abstract long uneven(boolean isStatefulOnly);
}
