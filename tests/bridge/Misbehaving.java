package org.example;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;

/** Assignors that go wrong in one way each when a second client has joined, and some that do not. */
public class Misbehaving implements TaskAssignor {

    @Override
    public TaskAssignment assign(final ApplicationState state) {
        if (state.kafkaStreamsStates(false).size() > 1) {
            misbehave(state);
        }
        return inTurn(state, Set.of(), null);
    }

    void misbehave(final ApplicationState state) { }

    static TaskAssignment inTurn(final ApplicationState state, final Set<TaskId> omitted, final Instant deadline) {
        final List<ProcessId> clients = new ArrayList<>(new TreeSet<>(state.kafkaStreamsStates(false).keySet()));
        final Map<ProcessId, Set<AssignedTask>> tasks = new TreeMap<>();
        clients.forEach(client -> tasks.put(client, new HashSet<>()));
        int number = 0;
        for (final TaskId task : new TreeSet<>(state.allTasks().keySet())) {
            if (!omitted.contains(task)) {
                final AssignedTask active = new AssignedTask(task, AssignedTask.Type.ACTIVE);
                tasks.get(clients.get(number++ % clients.size())).add(active);
            }
        }
        final List<KafkaStreamsAssignment> assignment = new ArrayList<>();
        tasks.forEach((client, held) -> {
            final KafkaStreamsAssignment given = KafkaStreamsAssignment.of(client, held);
            assignment.add(deadline == null ? given : given.withFollowupRebalance(deadline));
        });
        return new TaskAssignment(assignment);
    }

    public static final class Throwing extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            throw new IllegalStateException("no \u001b[31msuch\nkey");
        }
    }

    public static final class Failing extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            throw new AssertionError();
        }
    }

    public static final class Recursive extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            misbehave(state);
        }
    }

    public static final class Exiting extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            System.exit(3);
        }
    }

    public static final class Halting extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            Runtime.getRuntime().halt(4);
        }
    }

    public static final class Killing extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            final String pid = Long.toString(ProcessHandle.current().pid());
            try {
                new ProcessBuilder("kill", "-9", pid).start().waitFor();
            } catch (final java.io.IOException | InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    public static final class Endless extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            long number = 1;
            while (number != 0) {
                number += 2;
            }
        }
    }

    public static final class Hoarding extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            final List<long[]> hoard = new ArrayList<>();
            while (hoard.size() < Integer.MAX_VALUE) {
                hoard.add(new long[1 << 20]);
            }
        }
    }

    public static final class Returning extends Misbehaving {
        @Override
        public TaskAssignment assign(final ApplicationState state) {
            return state.kafkaStreamsStates(false).size() > 1 ? null : super.assign(state);
        }
    }

    public static final class Doubling extends Misbehaving {
        @Override
        public TaskAssignment assign(final ApplicationState state) {
            final List<KafkaStreamsAssignment> assignment = new ArrayList<>();
            final TaskId first = new TreeSet<>(state.allTasks().keySet()).first();
            for (final ProcessId client : state.kafkaStreamsStates(false).keySet()) {
                assignment.add(KafkaStreamsAssignment.of(client,
                    Set.of(new AssignedTask(first, AssignedTask.Type.ACTIVE))));
            }
            return new TaskAssignment(assignment);
        }
    }

    public static final class Inventing extends Misbehaving {
        @Override
        public TaskAssignment assign(final ApplicationState state) {
            final List<KafkaStreamsAssignment> assignment = new ArrayList<>();
            for (final ProcessId client : state.kafkaStreamsStates(false).keySet()) {
                assignment.add(KafkaStreamsAssignment.of(client,
                    Set.of(new AssignedTask(new TaskId(77, 7), AssignedTask.Type.ACTIVE))));
                break;
            }
            return new TaskAssignment(assignment);
        }
    }

    /** Leaves out a task, which is no failure. */
    public static final class Dropping extends Misbehaving {
        @Override
        public TaskAssignment assign(final ApplicationState state) {
            final boolean isAlone = state.kafkaStreamsStates(false).size() == 1;
            return inTurn(state, isAlone ? Set.of() : Set.of(new TaskId(0, 0)), null);
        }
    }

    public static final class Random extends Misbehaving {
        private static int calls;

        @Override
        public TaskAssignment assign(final ApplicationState state) {
            final Set<TaskId> omitted = new HashSet<>();
            if (calls++ % 2 == 1) {
                omitted.add(state.allTasks().keySet().iterator().next());
            }
            return inTurn(state, omitted, null);
        }
    }

    /** Not wrong: prints, and reads nothing from standard input. */
    public static final class Printing extends Misbehaving {
        @Override
        void misbehave(final ApplicationState state) {
            System.out.println("printed by Java");
            try {
                if (System.in.read() != -1) {
                    throw new IllegalStateException("read a request");
                }
            } catch (final java.io.IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Not wrong: requests another rebalance after 90 seconds, however long it takes itself. */
    public static final class Following extends Misbehaving {
        @Override
        public TaskAssignment assign(final ApplicationState state) {
            pause();
            final Instant deadline = Instant.now().plusSeconds(90);
            pause();
            return inTurn(state, Set.of(), deadline);
        }

        private static void pause() {
            try {
                Thread.sleep((long) (Math.random() * 30));
            } catch (final InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Not wrong: no constructor that is public, configured by Kafka's keys. */
    static final class Configured extends Misbehaving {
        private Object standbys;

        Configured() { }

        @Override
        public void configure(final Map<String, ?> configs) {
            standbys = configs.get("num.standby.replicas");
        }

        @Override
        void misbehave(final ApplicationState state) {
            if (!standbys.equals(state.assignmentConfigs().numStandbyReplicas())) {
                throw new IllegalStateException("configured with " + configsOf(standbys));
            }
        }

        private static String configsOf(final Object value) {
            return String.valueOf(value);
        }
    }

    /** Takes two milliseconds and a mebibyte. */
    public static final class Wasteful extends Misbehaving {
        private static byte[] kept;

        @Override
        void misbehave(final ApplicationState state) {
            kept = new byte[1 << 20];
            try {
                Thread.sleep(2);
            } catch (final InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Not an assignor. */
    public static final class Nothing { }

    /** Cannot be created. */
    public static final class Unbuildable extends Misbehaving {
        public Unbuildable(final int number) {
            if (number < 0) {
                throw new IllegalArgumentException();
            }
        }
    }

    /** Cannot be created either. */
    public static final class Refusing extends Misbehaving {
        public Refusing() {
            throw new UnsupportedOperationException("not today");
        }
    }
}
