package assignorsim.bridge.group;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;

import assignorsim.bridge.Stopwatch;

/** A streams group and its topology in a request, and the form of the answer. */
@SuppressWarnings("unchecked")
public final class GroupRequest {

    /**
     * The members by id, in the iteration order of the coordinator's hash map, which the request has.
     *
     * <p>The map keeps that order, so that an assignor sees the members as on a broker.
     */
    public final Map<String, Member> members = new LinkedHashMap<>();

    /** Configs of the group by Kafka's keys. */
    public final Map<String, String> configs = new HashMap<>();

    private final SortedMap<String, Integer> partitions = new TreeMap<>();
    private final Map<String, Boolean> stateful = new HashMap<>();

    public GroupRequest(final Map<String, Object> request) {
        ((Map<String, String>) request.get("configs")).forEach(configs::put);
        for (final List<Object> subtopology : (List<List<Object>>) request.get("subtopologies")) {
            partitions.put((String) subtopology.get(0), ((Long) subtopology.get(1)).intValue());
            stateful.put((String) subtopology.get(0), (Boolean) subtopology.get(2));
        }
        ((List<Map<String, Object>>) request.get("members")).forEach(
            member -> members.put((String) member.get("id"), read(member)));
    }

    /** Returns the ids of all subtopologies in the order of strings. */
    public List<String> subtopologies() {
        return new ArrayList<>(partitions.keySet());
    }

    /** @throws java.util.NoSuchElementException there is no such subtopology. */
    public int partitions(final String subtopology) {
        return Optional.ofNullable(partitions.get(subtopology)).orElseThrow();
    }

    /** @throws java.util.NoSuchElementException there is no such subtopology. */
    public boolean isStateful(final String subtopology) {
        return Optional.ofNullable(stateful.get(subtopology)).orElseThrow();
    }

    /** Collects the tasks of members by role. */
    public static final class Answer {

        private final Map<String, Object> members = new LinkedHashMap<>();

        public void add(
            final String member, final Map<String, Set<Integer>> active, final Map<String, Set<Integer>> standby
        ) {
            members.put(member, List.of(active, standby));
        }

        public Map<String, Object> after(final Stopwatch stopwatch) {
            final Map<String, Object> answer = new HashMap<>();
            answer.put("members", members);
            stopwatch.putInto(answer);
            return answer;
        }
    }

    private static Member read(final Map<String, Object> member) {
        return new Member(
            Optional.ofNullable((String) member.get("instance_id")),
            Optional.ofNullable((String) member.get("rack_id")),
            (String) member.get("process_id"),
            new HashMap<>((Map<String, String>) member.get("client_tags")),
            tasks(member.get("active_tasks")),
            tasks(member.get("standby_tasks")),
            offsets(member.get("task_offsets")),
            offsets(member.get("task_end_offsets"))
        );
    }

    private static Map<String, Set<Integer>> tasks(final Object listed) {
        final Map<String, Set<Integer>> tasks = new HashMap<>();
        each(listed, (subtopology, numbers) -> {
            final Set<Integer> partitions = new HashSet<>();
            ((Iterable<? extends Number>) numbers).forEach(number -> partitions.add(number.intValue()));
            tasks.put(subtopology, partitions);
        });
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(final Object listed) {
        final Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        each(listed, (subtopology, pairs) -> {
            final Map<Integer, Long> byPartition = new HashMap<>();
            ((List<List<Long>>) pairs).forEach(pair -> byPartition.put(pair.get(0).intValue(), pair.get(1)));
            offsets.put(subtopology, byPartition);
        });
        return offsets;
    }

    private static void each(final Object listed, final BiConsumer<String, Object> action) {
        new TreeMap<>((Map<String, Object>) listed).forEach(action);
    }
}
