package assignorsim.bridge;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/** Rebalances of a streams group, whose members are threads. */
@SuppressWarnings("unchecked")
final class GroupSequence extends Sequences {

    private final List<List<String>> members;
    private final Map<String, String> processes = new HashMap<>();
    private final Map<String, Integer> partitions = new HashMap<>();
    private final Set<String> stateful = new HashSet<>();
    private List<String> present = List.of();
    private Map<String, List<Map<String, Set<Integer>>>> tasks = Map.of();

    GroupSequence(final Function<Map<String, Object>, Map<String, Object>> assignor, final Map<String, Object> sequence) {
        super(assignor, sequence);
        members = (List<List<String>>) sequence.get("members");
        members.forEach(member -> processes.put(member.get(0), member.get(1)));
        for (final List<Object> subtopology : (List<List<Object>>) sequence.get("subtopologies")) {
            partitions.put((String) subtopology.get(0), ((Long) subtopology.get(1)).intValue());
            if ((Boolean) subtopology.get(2)) {
                stateful.add((String) subtopology.get(0));
            }
        }
    }

    @Override
    Object tasks() {
        return tasks;
    }

    @Override
    boolean hasFollowup() {
        return false;
    }

    @Override
    void rebalance(final List<Long> places) throws Invalid {
        final List<String> names = places.stream().map(place -> members.get(place.intValue()).get(0)).toList();
        final List<Object> listed = new ArrayList<>();
        for (final String name : names) {
            final List<Map<String, Set<Integer>>> held = tasks.getOrDefault(name, List.of(Map.of(), Map.of()));
            final Map<String, Object> member = new HashMap<>();
            member.put("id", name);
            member.put("process_id", processes.get(name));
            member.put("client_tags", Map.of());
            member.put("active_tasks", held.get(ACTIVE));
            member.put("standby_tasks", held.get(STANDBY));
            member.put("task_offsets", Map.of());
            member.put("task_end_offsets", Map.of());
            listed.add(member);
        }
        final Map<String, Object> request = Map.of(
            "configs", sequence.get("configs"), "subtopologies", sequence.get("subtopologies"), "members", listed);
        final Map<String, List<Map<String, Set<Integer>>>> given =
            (Map<String, List<Map<String, Set<Integer>>>>) assignor.apply(request).get("members");
        check(given, new HashSet<>(names));
        tasks = withoutEmpty(given);
        present = names;
    }

    private static Map<String, List<Map<String, Set<Integer>>>> withoutEmpty(
        final Map<String, List<Map<String, Set<Integer>>>> given
    ) {
        final Map<String, List<Map<String, Set<Integer>>>> kept = new HashMap<>();
        given.forEach((member, roles) -> {
            final List<Map<String, Set<Integer>>> both = new ArrayList<>();
            roles.forEach(role -> {
                final Map<String, Set<Integer>> some = new TreeMap<>();
                role.forEach((subtopology, numbers) -> {
                    if (!numbers.isEmpty()) {
                        some.put(subtopology, new HashSet<>(numbers));
                    }
                });
                both.add(some);
            });
            if (!both.get(ACTIVE).isEmpty() || !both.get(STANDBY).isEmpty()) {
                kept.put(member, both);
            }
        });
        return kept;
    }

    private void check(final Map<String, List<Map<String, Set<Integer>>>> given, final Set<String> names) throws Invalid {
        final Set<List<Object>> running = new HashSet<>();
        final Set<List<Object>> copies = new HashSet<>();
        for (final Map.Entry<String, List<Map<String, Set<Integer>>>> entry : given.entrySet()) {
            if (!names.contains(entry.getKey())) {
                throw new Invalid();
            }
            for (int role = ACTIVE; role <= STANDBY; role++) {
                for (final Map.Entry<String, Set<Integer>> part : entry.getValue().get(role).entrySet()) {
                    for (final int number : part.getValue()) {
                        if (number < 0 || number >= partitions.getOrDefault(part.getKey(), 0)
                            || role == STANDBY && !stateful.contains(part.getKey())
                            || role == ACTIVE && !running.add(List.of(part.getKey(), number))
                            || !copies.add(List.of(processes.get(entry.getKey()), part.getKey(), number))) {
                            throw new Invalid();
                        }
                    }
                }
            }
        }
        if (running.size() < partitions.values().stream().mapToInt(Integer::intValue).sum()) {
            violated.add("complete");
        }
    }

    @Override
    long uneven(final boolean isStatefulOnly) {
        final List<Long> counts = new ArrayList<>();
        tasks.values().forEach(roles -> counts.add(roles.get(ACTIVE).entrySet().stream()
            .filter(part -> !isStatefulOnly || stateful.contains(part.getKey()))
            .mapToLong(part -> part.getValue().size()).sum()));
        final long all = counts.stream().mapToLong(Long::longValue).sum();
        final long share = present.isEmpty() ? 0 : (all + present.size() - 1) / present.size();
        return counts.stream().mapToLong(count -> Math.max(count - share, 0)).sum();
    }
}
