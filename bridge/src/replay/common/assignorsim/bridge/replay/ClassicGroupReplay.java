package assignorsim.bridge.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Utils;

/**
 * A group of the classic protocol, whose leader deals the tasks out in turn, in the order of the members' names.
 *
 * <p>A task that another member has is withheld until that has revoked it; both rejoin (KIP-429). The metadata of a member
 * differ each time it joins, as those of Kafka Streams do, so each JoinGroup request begins a rebalance.
 */
final class ClassicGroupReplay extends Replay {
    private static final String PROTOCOL = "stream";

    private final class ClassicMember {
        private final String name;
        private final String instanceId;
        private String id = "";
        private int generation = -1;
        private boolean isUp = true;
        private boolean isJoined;
        private boolean isComputing;
        private boolean isJoining;
        private int joins;
        private long startedMs = -1;
        /** Up to when it knew partitions when it led the assignment; -1 if it did not lead the last one. */
        private long assignedUntilMs = -1;
        private boolean hasToRejoin;
        private Set<String> owned = Set.of();
        private VirtualClock.Event heartbeat;
        private VirtualClock.Event rejoin;

        ClassicMember(final String client, final int start, final int thread, final boolean isStatic) {
            name = client + "/" + start + "/" + thread;
            instanceId = isStatic ? client + "-" + thread : null;
        }

        void join() {
            if (!isUp) {
                return;
            }
            stopTimers();
            if (startedMs < 0) {
                startedMs = clock.milliseconds();
                awaitRefresh();
            }
            isJoining = true;
            final JoinGroupRequestProtocol protocol = new JoinGroupRequestProtocol().setName(PROTOCOL)
                .setMetadata(metadata(name + ":" + String.join(",", owned) + ":" + joins++));
            final JoinGroupRequestData request = new JoinGroupRequestData().setGroupId(GROUP).setMemberId(id)
                .setGroupInstanceId(instanceId).setProtocolType("consumer")
                .setProtocols(new JoinGroupRequestProtocolCollection(List.of(protocol).iterator()))
                .setSessionTimeoutMs(config("session_timeout_ms", 45_000))
                .setRebalanceTimeoutMs(config("max_poll_interval_ms", 300_000));
            final CompletableFuture<JoinGroupResponseData> response = new CompletableFuture<>();
            response.thenAccept(answer -> clock.in(0, () -> receive(answer)));
            coordinator.join(name, request, response);
            if (!isJoined && (response.getNow(null) == null || response.getNow(null).errorCode() == 0)) {
                isJoined = true;
            }
            look(name);
        }

        private void receive(final JoinGroupResponseData response) {
            final Errors error = Errors.forCode(response.errorCode());
            if (error == Errors.NONE && !response.members().isEmpty() && !response.skipAssignment()) {
                final ArrayNode members = add("generation").put("g", response.generationId()).put("leader", name)
                    .putArray("members");
                response.members().stream().map(member -> names.get(member.memberId())).sorted().forEach(members::add);
            }
            if (!isUp) {
                return;
            }
            isJoining = false;
            if (error == Errors.MEMBER_ID_REQUIRED) {
                id = response.memberId();
                names.put(id, name);
                join();
                return;
            }
            if (error != Errors.NONE) {
                reset(error);
                return;
            }
            id = response.memberId();
            names.put(id, name);
            generation = response.generationId();
            beat();
            assignedUntilMs = response.leader().equals(id) ? refreshedAt() : -1;
            if (response.leader().equals(id)) {
                isComputing = true;
                hasToRejoin = false;
                if (response.skipAssignment()) {
                    finish(List.of(), response.generationId());
                } else {
                    final List<SyncGroupRequestAssignment> assignments = assignments(response, tasks(assignedUntilMs));
                    later(config("leader_compute_ms", 0), () -> finish(assignments, response.generationId()));
                }
            } else {
                sync(List.of(), generation);
            }
        }

        /** Sends the assignments; a leader neither polls nor joins before. */
        private void finish(final List<SyncGroupRequestAssignment> assignments, final int ofGeneration) {
            isComputing = false;
            if (isUp && ofGeneration == generation) {
                sync(assignments, ofGeneration);
                if (hasToRejoin) {
                    rejoin();
                }
            } else if (isUp) {
                rejoin();
            }
        }

        private void sync(final List<SyncGroupRequestAssignment> assignments, final int ofGeneration) {
            if (!isUp || ofGeneration != generation) {
                return;
            }
            final SyncGroupRequestData request = new SyncGroupRequestData().setGroupId(GROUP).setMemberId(id)
                .setGroupInstanceId(instanceId).setGenerationId(generation).setProtocolType("consumer").setProtocolName(PROTOCOL)
                .setAssignments(assignments);
            final CompletableFuture<SyncGroupResponseData> response = new CompletableFuture<>();
            response.thenAccept(answer -> clock.in(0, () -> receive(answer)));
            coordinator.handle(name, ApiKeys.SYNC_GROUP, "classicGroupSync", request, response);
            look(name);
        }

        private void receive(final SyncGroupResponseData response) {
            if (!isUp) {
                return;
            }
            final Errors error = Errors.forCode(response.errorCode());
            if (error == Errors.REBALANCE_IN_PROGRESS) {
                rejoin();
                return;
            }
            if (error != Errors.NONE) {
                reset(error);
                return;
            }
            add("assigned").put("m", name).put("g", generation);
            final String[] parts = new String(response.assignment(), StandardCharsets.UTF_8).split(":", -1);
            final Set<String> tasks = parts.length < 2 ? Set.of() : split(parts[0]);
            final boolean isOver = parts.length < 2 || parts[1].isEmpty() && tasks.containsAll(owned);
            owned = tasks;
            if (!isOver) {
                rejoin();
            }
        }

        private void reset(final Errors error) {
            generation = -1;
            if (error == Errors.UNKNOWN_MEMBER_ID) {
                id = "";
            }
            if (error == Errors.FENCED_INSTANCE_ID) {
                isUp = false;
                return;
            }
            if (error == Errors.INCONSISTENT_GROUP_PROTOCOL) {
                isUp = false;
                add("refused").put("m", name);
                return;
            }
            owned = Set.of();
            rejoin();
        }

        /** Refreshes its metadata at an interval; a leader rejoins if it sees partitions that it has not assigned. */
        private void awaitRefresh() {
            clock.in(config("metadata_max_age_ms", 300_000), () -> {
                if (!isUp) {
                    return;
                }
                awaitRefresh();
                if (assignedUntilMs >= 0 && added.stream().anyMatch(atMs -> atMs > assignedUntilMs)) {
                    if (isComputing) {
                        hasToRejoin = true;
                    } else if (!isJoining && rejoin == null) {
                        join();
                    }
                }
            });
        }

        private long refreshedAt() {
            final long ageMs = config("metadata_max_age_ms", 300_000);
            return clock.milliseconds() - (clock.milliseconds() - startedMs) % ageMs;
        }

        private void rejoin() {
            if (rejoin == null && !isComputing) {
                rejoin = clock.in(config("rejoin_ms", 0), this::join);
            }
        }

        private void beat() {
            if (heartbeat != null) {
                heartbeat.cancel();
            }
            heartbeat = clock.in(config("heartbeat_interval_ms", 3_000), () -> {
                final Errors error = beatNow();
                if (error == Errors.NONE) {
                    beat();
                } else if (error == Errors.REBALANCE_IN_PROGRESS) {
                    beat();
                    rejoin();
                } else {
                    reset(error);
                }
            });
        }

        private Errors beatNow() {
            try {
                final Object response = coordinator.handle(name, ApiKeys.HEARTBEAT, "classicGroupHeartbeat",
                    new HeartbeatRequestData().setGroupId(GROUP).setMemberId(id).setGroupInstanceId(instanceId).setGenerationId(generation));
                return Errors.forCode(((HeartbeatResponseData) response).errorCode());
            } catch (final ApiException error) {
                return Errors.forException(error);
            }
        }

        private void stopTimers() {
            for (final VirtualClock.Event timer : new VirtualClock.Event[] {heartbeat, rejoin}) {
                if (timer != null) {
                    timer.cancel();
                }
            }
            heartbeat = null;
            rejoin = null;
        }

        void stop(final boolean leaves) {
            isUp = false;
            stopTimers();
            if (leaves && !id.isEmpty()) {
                coordinator.handle(name, ApiKeys.LEAVE_GROUP, "classicGroupLeave", new LeaveGroupRequestData().setGroupId(GROUP)
                    .setMembers(List.of(new MemberIdentity().setMemberId(id).setGroupInstanceId(instanceId))));
                look(name);
            }
        }
    }

    private final Map<String, Map<Integer, ClassicMember>> clients = new TreeMap<>();
    private final Map<String, Integer> starts = new HashMap<>();
    private final Map<String, String> names = new HashMap<>();
    private final List<Long> added = new ArrayList<>();
    private Set<String> present = new TreeSet<>();

    ClassicGroupReplay(final JsonNode history, final Replay whole) {
        super(history, whole);
    }

    @Override
    Map<String, Object> brokerConfigs() {
        return Map.of(
            "group.initial.rebalance.delay.ms", config("initial_rebalance_delay_ms", 3_000),
            "group.min.session.timeout.ms", 1,
            "group.max.session.timeout.ms", Integer.MAX_VALUE
        );
    }

    @Override
    void happen(final JsonNode event) {
        final String client = event.path("client").asText();
        switch (event.get("kind").asText()) {
            case "start" -> start(client);
            case "leave" -> clients.remove(client).values().forEach(member -> member.stop(true));
            case "close" -> clients.remove(client).values()
                .forEach(member -> member.stop(!clientNode(client).path("static").asBoolean()));
            case "kill" -> clients.remove(client).values().forEach(member -> member.stop(false));
            case "partitions" -> added.add(clock.milliseconds());
            default -> throw new IllegalArgumentException("unknown event " + event);
        }
    }

    private void start(final String client) {
        final int start = starts.merge(client, 1, Integer::sum);
        final Map<Integer, ClassicMember> threads = new LinkedHashMap<>();
        clients.put(client, threads);
        for (int thread = 0; thread < clientNode(client).get("threads").asInt(); thread++) {
            final ClassicMember member = new ClassicMember(client, start, thread, clientNode(client).path("static").asBoolean());
            threads.put(thread, member);
            later(thread * config("thread_start_ms", 10), member::join);
        }
    }

    /** Returns the tasks of the partitions that there were at a time. */
    private List<String> tasks(final long untilMs) {
        final List<String> tasks = new ArrayList<>();
        for (final JsonNode part : history.get("subtopologies")) {
            int partitions = part.get("partitions").asInt();
            for (final JsonNode event : history.get("events")) {
                if (event.path("subtopology").equals(part.get("id")) && event.get("at").asLong() <= untilMs) {
                    partitions = event.get("partitions").asInt();
                }
            }
            for (int partition = 0; partition < partitions; partition++) {
                tasks.add(part.get("id").asText() + "_" + partition);
            }
        }
        return tasks;
    }

    /** Returns the tasks of each member now, and those that it gets when others have revoked them. */
    private List<SyncGroupRequestAssignment> assignments(final JoinGroupResponseData response, final List<String> tasks) {
        final Map<String, Set<String>> owned = new TreeMap<>();
        final Map<String, String> ids = new HashMap<>();
        response.members().forEach(member -> {
            final String[] parts = userData(member.metadata()).split(":", -1);
            owned.put(parts[0], split(parts[1]));
            ids.put(parts[0], member.memberId());
        });
        final List<String> members = List.copyOf(owned.keySet());
        final List<SyncGroupRequestAssignment> assignments = new ArrayList<>();
        for (int number = 0; number < members.size(); number++) {
            final String member = members.get(number);
            final List<String> now = new ArrayList<>();
            final List<String> withheld = new ArrayList<>();
            for (int task = number; task < tasks.size(); task += members.size()) {
                final String name = tasks.get(task);
                final boolean isElsewhere = owned.entrySet().stream()
                    .anyMatch(other -> !other.getKey().equals(member) && other.getValue().contains(name));
                (isElsewhere ? withheld : now).add(name);
            }
            final String text = String.join(",", now) + ":" + String.join(",", withheld);
            assignments.add(new SyncGroupRequestAssignment().setMemberId(ids.get(member))
                .setAssignment(text.getBytes(StandardCharsets.UTF_8)));
        }
        return assignments;
    }

    /** Logs which members the group has lost, and which it has; one that was unknown is that of the caller. */
    private void look(final String caller) {
        final Object described = coordinator.describe(GROUP);
        final Set<String> members = new TreeSet<>();
        ((DescribeGroupsResponseData.DescribedGroup) described).members()
            .forEach(member -> members.add(names.computeIfAbsent(member.memberId(), id -> caller)));
        present.stream().filter(member -> !members.contains(member)).forEach(member -> add("removed").put("m", member));
        members.stream().filter(member -> !present.contains(member)).forEach(member -> add("joined").put("m", member));
        present = members;
    }

    @Override
    void onRecord(final String type, final Object key, final Object value) { }

    @Override
    void afterTimer() {
        look(null);
    }

    private static byte[] metadata(final String userData) {
        return Utils.toArray(ConsumerProtocol.serializeSubscription(
            new Subscription(List.of(), ByteBuffer.wrap(userData.getBytes(StandardCharsets.UTF_8)))));
    }

    private static String userData(final byte[] metadata) {
        return StandardCharsets.UTF_8.decode(ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(metadata)).userData())
            .toString();
    }

    private static Set<String> split(final String names) {
        return names.isEmpty() ? Set.of() : new TreeSet<>(Arrays.asList(names.split(",")));
    }
}
