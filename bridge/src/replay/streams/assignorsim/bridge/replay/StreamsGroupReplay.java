package assignorsim.bridge.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.FencedMemberEpochException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.KeyValue;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.Subtopology;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.TaskIds;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.Topology;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;

/** A streams group: its members obey what the coordinator hands to them. */
final class StreamsGroupReplay extends Replay {
    private static final String ATTEMPT = "+";
    private static final int LEAVES = -1;
    private static final int CLOSES_STATIC = -2;
    private static final int STALE_TOPOLOGY = StreamsGroupHeartbeatResponse.Status.STALE_TOPOLOGY.code();
    /** The dynamic configs of a group, by the kind of the event that sets one. */
    private static final Map<String, String> GROUP_CONFIGS = Map.of(
        "num_standby_replicas", "streams.num.standby.replicas",
        "session_timeout_ms", "streams.session.timeout.ms",
        "heartbeat_interval_ms", "streams.heartbeat.interval.ms",
        "assignment_interval_ms", "streams.assignment.interval.ms",
        "initial_rebalance_delay_ms", "streams.initial.rebalance.delay.ms",
        "num_warmup_replicas", "streams.num.warmup.replicas",
        "rack_aware_assignment_tags", "streams.rack.aware.assignment.tags"
    );

    /** A task of each role that a member has, or should have. */
    private record Tasks(Set<String> active, Set<String> standby, Set<String> warmup) {
        static final Tasks NONE = new Tasks(Set.of(), Set.of(), Set.of());
    }

    private final class StreamsMember {
        private final String id;
        private final String instanceId;
        private final String processId;
        private final String client;
        private final int thread;
        private final JsonNode started;
        private int epoch;
        private Tasks owned = Tasks.NONE;
        private Tasks target = Tasks.NONE;
        private boolean isUp = true;
        private boolean isJoined;
        private boolean isPolling;
        private long pausedUntilMs;
        private int timer;
        private int intervalMs = heartbeatIntervalMs;
        private int attempts;

        StreamsMember(final String client, final int start, final int thread, final JsonNode started) {
            this.client = client;
            this.thread = thread;
            this.started = started;
            final boolean isStatic = clientNode(client).path("static").asBoolean();
            processId = started.get("process_id").asText();
            id = client + "/" + start + "/" + thread;
            instanceId = isStatic ? client + "-" + thread : null;
        }

        void join() {
            if (!isUp) {
                return;
            }
            try {
                heartbeat(true);
            } catch (final UnreleasedInstanceIdException error) {
                // The error ends its thread. Its platform restarts it, so the next attempt has another member id.
                attempts++;
                waiting.add(this);
                return;
            }
            repeat();
        }

        private void repeat() {
            final int started = ++timer;
            clock.in(intervalMs, () -> {
                if (isUp && timer == started) {
                    if (clock.milliseconds() >= pausedUntilMs) {
                        heartbeat(false);
                    }
                    repeat();
                }
            });
        }

        private void heartbeat(final boolean reportsTasks) {
            final StreamsGroupHeartbeatRequestData request = request(epoch);
            if (epoch == 0) {
                request.setProcessId(processId).setTopology(topology(started.path("topology_epoch").asInt()));
                request.setRebalanceTimeoutMs(rebalanceTimeoutMs).setRackId(started.path("rack").asText(null));
                final List<KeyValue> tags = new ArrayList<>();
                started.path("tags").fields().forEachRemaining(tag ->
                    tags.add(new KeyValue().setKey(tag.getKey()).setValue(tag.getValue().asText())));
                request.setClientTags(tags);
            }
            if (epoch == 0 || reportsTasks) {
                reportOffsets(request);
                request.setActiveTasks(ids(owned.active)).setStandbyTasks(ids(owned.standby)).setWarmupTasks(ids(owned.warmup));
            }
            final StreamsGroupHeartbeatResponseData response;
            try {
                response = send("heartbeat:" + id, request);
            } catch (final FencedInstanceIdException error) {
                isUp = false;
                hold(Tasks.NONE);
                return;
            } catch (final InvalidRequestException | GroupIdNotFoundException error) {
                isUp = false;
                add("refused").put("m", id);
                return;
            } catch (final FencedMemberEpochException | UnknownMemberIdException error) {
                epoch = 0;
                target = Tasks.NONE;
                hold(Tasks.NONE);
                heartbeat(true);
                return;
            }
            if (!isJoined) {
                isJoined = true;
                // A static member that joins removes the one that it replaces.
                final boolean replaces = !events.isEmpty() && events.get(0).get("k").asText().equals("removed");
                final ObjectNode joined = event("joined").put("m", id);
                if (response.status() != null && response.status().stream().anyMatch(status -> status.statusCode() == STALE_TOPOLOGY)) {
                    joined.put("stale", true);
                }
                events.add(replaces ? 1 : 0, joined);
            }
            flush();
            epoch = response.memberEpoch();
            if (response.heartbeatIntervalMs() != intervalMs) {
                intervalMs = response.heartbeatIntervalMs();
                repeat();
            }
            if (response.activeTasks() != null) {
                target = new Tasks(names(response.activeTasks()), names(response.standbyTasks()), names(response.warmupTasks()));
                if (!target.equals(owned) && !isPolling) {
                    isPolling = true;
                    if (rejoinMs == 0) {
                        poll();
                    } else {
                        clock.in(rejoinMs, this::poll);
                    }
                }
            }
        }

        /** Reports offsets of its tasks, if the history says so and the release reads them. */
        private void reportOffsets(final StreamsGroupHeartbeatRequestData request) {
            if (history.get("config").path("reports_offsets").asBoolean()) {
                final Map<String, Long> offsets = new TreeMap<>();
                for (final Set<String> tasks : List.of(owned.active, owned.standby, owned.warmup)) {
                    tasks.forEach(task -> offsets.put(task, 100L + (task + id).hashCode() % 100));
                }
                Coordinator.setOffsets(request, offsets);
            }
        }

        private void poll() {
            if (clock.milliseconds() < pausedUntilMs) {
                clock.at(pausedUntilMs, this::poll);
                return;
            }
            isPolling = false;
            if (isUp && !target.equals(owned)) {
                hold(target);
                if (restartsTimer) {
                    repeat();
                }
                heartbeat(true);
            }
        }

        private void hold(final Tasks tasks) {
            if (!tasks.equals(owned)) {
                owned = tasks;
                put(add("tasks").put("m", id), tasks);
            }
        }

        void leave(final int withEpoch) {
            isUp = false;
            if (isJoined) {
                try {
                    send("leave:" + id, request(withEpoch));
                } catch (final FencedInstanceIdException | UnknownMemberIdException error) {
                    return;  // It was removed, or replaced.
                }
                flush();
            }
        }

        private StreamsGroupHeartbeatRequestData request(final int withEpoch) {
            return new StreamsGroupHeartbeatRequestData().setGroupId(GROUP).setMemberId(attempts == 0 ? id : id + ATTEMPT + attempts).setMemberEpoch(withEpoch)
                .setInstanceId(instanceId);
        }
    }

    private final int heartbeatIntervalMs;
    private final int rejoinMs;
    private final boolean restartsTimer;
    private final int threadStartMs;
    private final int rebalanceTimeoutMs;
    private final Map<String, Tasks> targets = new TreeMap<>();
    private final Map<String, Map<Integer, StreamsMember>> clients = new TreeMap<>();
    private final Map<String, Integer> starts = new HashMap<>();
    private final List<StreamsMember> waiting = new ArrayList<>();
    private final Properties groupConfigs = new Properties();

    StreamsGroupReplay(final JsonNode history, final Replay whole) {
        super(history, whole);
        heartbeatIntervalMs = config("heartbeat_interval_ms", 5_000);
        rejoinMs = config("rejoin_ms", 0);
        // Clients restart their heartbeat timer at each acknowledgement; histories with fixed phases are simpler to read.
        restartsTimer = history.get("config").path("client_timer").asText().equals("restarted");
        threadStartMs = config("thread_start_ms", 10);
        rebalanceTimeoutMs = config("max_poll_interval_ms", 300_000);
    }

    /** Returns the topology of an epoch: later ones have more subtopologies. */
    private Topology topology(final int epoch) {
        final List<Subtopology> parts = new ArrayList<>();
        for (final JsonNode part : history.get("subtopologies")) {
            if (part.path("since").asInt() > epoch) {
                continue;
            }
            final String id = part.get("id").asText();
            final Subtopology subtopology = new Subtopology().setSubtopologyId(id).setSourceTopics(List.of("source-" + id));
            if (part.get("stateful").asBoolean()) {
                subtopology.setStateChangelogTopics(List.of(
                    new StreamsGroupHeartbeatRequestData.TopicInfo().setName("changelog-" + id)));
            }
            parts.add(subtopology);
        }
        return new Topology().setEpoch(epoch).setSubtopologies(parts);
    }

    @Override
    Map<String, Object> brokerConfigs() {
        return Map.of(
            "group.streams.session.timeout.ms", config("session_timeout_ms", 45_000),
            "group.streams.max.session.timeout.ms", Integer.MAX_VALUE,
            "group.streams.min.session.timeout.ms", 1,
            "group.streams.heartbeat.interval.ms", heartbeatIntervalMs,
            "group.streams.min.heartbeat.interval.ms", 1,
            "group.streams.max.heartbeat.interval.ms", Integer.MAX_VALUE,
            "group.streams.initial.rebalance.delay.ms", config("initial_rebalance_delay_ms", 3_000),
            "group.streams.assignment.interval.ms", config("assignment_interval_ms", 1_000),
            "group.streams.min.assignment.interval.ms", 0,
            "group.streams.num.standby.replicas", config("num_standby_replicas", 0)
        );
    }

    @Override
    void happen(final JsonNode event) {
        final String client = event.path("client").asText();
        switch (event.get("kind").asText()) {
            case "start" -> start(client, event);
            case "leave" -> stop(client, LEAVES);
            case "close" -> stop(client, clientNode(client).path("static").asBoolean() ? CLOSES_STATIC : LEAVES);
            case "kill" -> clients.remove(client).values().forEach(member -> member.isUp = false);
            case "threads" -> setThreads(client, event.get("threads").asInt());
            case "num_standby_replicas", "session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms",
                "initial_rebalance_delay_ms", "num_warmup_replicas", "rack_aware_assignment_tags" -> configure(GROUP_CONFIGS.get(event.get("kind").asText()), event.get("value"));
            case "move" -> coordinator.move();
            case "pause" -> clients.get(client).values()
                .forEach(member -> member.pausedUntilMs = clock.milliseconds() + event.get("for_ms").asLong());
            case "partitions" -> {
                final String id = event.get("subtopology").asText();
                final int partitions = event.get("partitions").asInt();
                coordinator.setPartitions(event.path("changelog").asBoolean()
                    ? Map.of("source-" + id, partitions, "changelog-" + id, partitions)
                    : Map.of("source-" + id, partitions));
            }
            default -> throw new IllegalArgumentException("unknown event " + event);
        }
    }

    /** Sets a dynamic config of the group; null removes it. */
    private void configure(final String name, final JsonNode value) {
        if (value.isNull()) {
            groupConfigs.remove(name);
        } else {
            groupConfigs.put(name, value.asText());
        }
        coordinator.configure(GROUP, groupConfigs);
    }

    private void start(final String client, final JsonNode event) {
        final int start = starts.merge(client, 1, Integer::sum);
        final Map<Integer, StreamsMember> threads = new LinkedHashMap<>();
        clients.put(client, threads);
        for (int thread = 0; thread < clientNode(client).get("threads").asInt(); thread++) {
            final StreamsMember member = new StreamsMember(client, start, thread, event);
            threads.put(thread, member);
            later(thread * threadStartMs, member::join);
        }
    }

    private void setThreads(final String client, final int count) {
        final Map<Integer, StreamsMember> threads = clients.get(client);
        final JsonNode started = threads.values().iterator().next().started;
        while (threads.size() > count) {
            final StreamsMember oldest = threads.values().iterator().next();
            threads.remove(oldest.thread);
            oldest.leave(LEAVES);
        }
        for (int added = 0; threads.size() < count; added++) {
            int thread = 0;
            while (threads.containsKey(thread)) {
                thread++;
            }
            final StreamsMember member = new StreamsMember(client, starts.merge(client, 1, Integer::sum), thread, started);
            threads.put(thread, member);
            later(added * threadStartMs, member::join);
        }
    }

    private void stop(final String client, final int epoch) {
        clients.remove(client).values().forEach(member -> member.leave(epoch));
    }

    private StreamsGroupHeartbeatResponseData send(final String trigger, final StreamsGroupHeartbeatRequestData request) {
        return (StreamsGroupHeartbeatResponseData) Coordinator.call(
            coordinator.handle(trigger, ApiKeys.STREAMS_GROUP_HEARTBEAT, "streamsGroupHeartbeat", request), "data");
    }

    @Override
    void onRecord(final String type, final Object key, final Object value) {
        switch (type) {
            case "StreamsGroupMemberMetadataKey" -> {
                if (value == null) {
                    events.add(event("removed").put("m", name((String) Coordinator.call(key, "memberId"))).put("by", coordinator.cause().split(":")[0]));
                }
            }
            case "StreamsGroupMetadataKey" -> {
                if (value != null) {
                    events.add(event("epoch").put("ge", (Integer) Coordinator.call(value, "epoch")).put("by", name(coordinator.cause())));
                }
            }
            case "StreamsGroupTargetAssignmentMemberKey" -> {
                final String member = name((String) Coordinator.call(key, "memberId"));
                if (value == null) {
                    targets.remove(member);
                } else {
                    targets.put(member, new Tasks(recorded(value, "activeTasks"), recorded(value, "standbyTasks"), recorded(value, "warmupTasks")));
                }
            }
            case "StreamsGroupTargetAssignmentMetadataKey" -> {
                if (value != null) {
                    final ObjectNode target = event("target").put("ge", (Integer) Coordinator.call(value, "assignmentEpoch"))
                        .put("by", name(coordinator.cause()));
                    final ObjectNode members = target.putObject("members");
                    targets.forEach((member, tasks) -> put(members.putObject(member), tasks));
                    events.add(target);
                }
            }
            default -> { }
        }
    }

    @Override
    void afterTimer() {
        flush();
    }

    private void flush() {
        boolean isRemoved = false;
        for (final ObjectNode event : events) {
            log.add(event);
            isRemoved |= event.get("k").asText().equals("removed");
        }
        events.clear();
        if (isRemoved) {
            final List<StreamsMember> released = List.copyOf(waiting);
            waiting.clear();
            released.forEach(StreamsMember::join);
        }
    }

    /** Remove the number of the attempt to join from a member id. */
    private static String name(final String id) {
        return id.split("\\" + ATTEMPT)[0];
    }

    private static Set<String> recorded(final Object value, final String role) {
        final Set<String> names = new TreeSet<>();
        for (final Object part : (List<?>) Coordinator.call(value, role)) {
            for (final Object partition : (List<?>) Coordinator.call(part, "partitions")) {
                names.add(Coordinator.call(part, "subtopologyId") + "_" + partition);
            }
        }
        return names;
    }

    private static Set<String> names(final List<StreamsGroupHeartbeatResponseData.TaskIds> parts) {
        final Set<String> names = new TreeSet<>();
        if (parts != null) {
            parts.forEach(part -> part.partitions().forEach(partition -> names.add(part.subtopologyId() + "_" + partition)));
        }
        return names;
    }

    private static List<TaskIds> ids(final Set<String> names) {
        final Map<String, List<Integer>> parts = new TreeMap<>();
        names.forEach(name -> parts.computeIfAbsent(name.split("_")[0], id -> new ArrayList<>())
            .add(Integer.valueOf(name.split("_")[1])));
        final List<TaskIds> ids = new ArrayList<>();
        parts.forEach((id, partitions) -> ids.add(new TaskIds().setSubtopologyId(id).setPartitions(partitions)));
        return ids;
    }

    private static void put(final ObjectNode node, final Tasks tasks) {
        add(node.putArray("a"), tasks.active);
        add(node.putArray("s"), tasks.standby);
        add(node.putArray("w"), tasks.warmup);
    }

    private static void add(final ArrayNode array, final Set<String> names) {
        names.forEach(array::add);
    }
}
