package assignorsim.bridge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.LongStream;

/** Rebalances by the leader of a group of Kafka Streams, whose assignor gives tasks to processes. */
@SuppressWarnings("unchecked")
final class ClientSequence extends Sequences {

    private static final long LATEST_OFFSET = -2;

    private final Map<String, List<Object>> tasks;
    private final List<List<Object>> processes;
    private final Map<String, Boolean> stateful = new HashMap<>();
    private final List<Object> lagRows = new ArrayList<>();
    private final long behind;
    private List<Long> present = List.of();
    private Map<String, List<Set<String>>> held = Map.of();
    private boolean hasFollowup;

    ClientSequence(final Function<Map<String, Object>, Map<String, Object>> assignor, final Map<String, Object> sequence) {
        super(assignor, sequence);
        tasks = (Map<String, List<Object>>) sequence.get("tasks");
        processes = (List<List<Object>>) sequence.get("processes");
        for (int row = 0; row < tasks.get("ids").size(); row++) {
            final boolean hasState = (Boolean) tasks.get("stateful").get(row);
            stateful.put((String) tasks.get("ids").get(row), hasState);
            if (hasState) {
                lagRows.add((long) row);
            }
        }
        behind = (Long) ((Map<String, Object>) sequence.get("configs")).get("acceptable_recovery_lag") + 1;
    }

    @Override
    Object tasks() {
        return held;
    }

    @Override
    boolean hasFollowup() {
        return hasFollowup;
    }

    @Override
    void rebalance(final List<Long> places) throws Invalid {
        final Map<String, List<Object>> clients = new HashMap<>();
        for (final String column : List.of("ids", "threads", "previous_active", "previous_standby", "lags")) {
            clients.put(column, new ArrayList<>());
        }
        for (final long place : places) {
            final String process = id(place);
            final List<Set<String>> had = held.getOrDefault(process, List.of(Set.of(), Set.of()));
            clients.get("ids").add(process);
            clients.get("threads").add(threads(place));
            clients.get("previous_active").add(List.copyOf(had.get(ACTIVE)));
            clients.get("previous_standby").add(List.copyOf(had.get(STANDBY)));
            final List<Long> lags = new ArrayList<>();
            for (final Object row : lagRows) {
                final Object task = tasks.get("ids").get(((Long) row).intValue());
                final boolean isActive = had.get(ACTIVE).contains(task);
                lags.add(isActive ? LATEST_OFFSET : had.get(STANDBY).contains(task) ? 0 : behind);
            }
            clients.get("lags").add(lags);
        }
        clients.put("racks", new ArrayList<>(Collections.nCopies(places.size(), null)));
        clients.put("tags", new ArrayList<>(Collections.nCopies(places.size(), Map.of())));
        clients.put("lag_rows", lagRows);
        clients.put("order", new ArrayList<>(LongStream.range(0, places.size()).boxed().toList()));
        final Map<String, Object> request = Map.of(
            "configs", sequence.get("configs"), "tasks", tasks, "partitions", sequence.get("partitions"),
            "clients", clients);
        accept(places, (List<List<Object>>) assignor.apply(request).get("clients"));
    }

    private void accept(final List<Long> places, final List<List<Object>> entries) throws Invalid {
        final Map<String, List<Set<String>>> given = new HashMap<>();
        places.forEach(place -> given.put(id(place), List.of(new TreeSet<>(), new TreeSet<>())));
        final Map<String, String> running = new HashMap<>();
        final Set<String> answered = new HashSet<>();
        boolean isUnfinished = false;
        for (final List<Object> entry : entries) {
            final String process = (String) entry.get(0);
            final Long delayMs = (Long) entry.get(3);
            if (!given.containsKey(process) || delayMs != null && delayMs < 0) {
                throw new Invalid();
            }
            answered.add(process);
            isUnfinished |= delayMs != null;
            for (int role = ACTIVE; role <= STANDBY; role++) {
                for (final Object listed : (Iterable<?>) entry.get(1 + role)) {
                    final String task = listed.toString();
                    final Boolean hasState = stateful.get(task);
                    if (hasState == null || role == STANDBY && !hasState
                        || role == ACTIVE && !process.equals(running.computeIfAbsent(task, first -> process))) {
                        throw new Invalid();
                    }
                    given.get(process).get(role).add(task);
                }
            }
        }
        if (answered.size() < given.size()) {
            throw new Invalid();
        }
        if (running.size() < stateful.size()) {
            violated.add("complete");
        }
        present = places;
        held = given;
        hasFollowup = isUnfinished;
    }

    private String id(final long place) {
        return (String) processes.get((int) place).get(0);
    }

    private long threads(final long place) {
        return (Long) processes.get((int) place).get(1);
    }

    @Override
    long uneven(final boolean isStatefulOnly) {
        final Map<String, Long> counts = new HashMap<>();
        held.forEach((process, roles) -> counts.put(process, roles.get(ACTIVE).stream()
            .filter(task -> !isStatefulOnly || stateful.get(task)).count()));
        final long all = counts.values().stream().mapToLong(Long::longValue).sum();
        final long threads = present.stream().mapToLong(this::threads).sum();
        final long share = threads == 0 ? 0 : (all + threads - 1) / threads;
        return present.stream()
            .mapToLong(place -> Math.max(counts.getOrDefault(id(place), 0L) - share * threads(place), 0)).sum();
    }
}
