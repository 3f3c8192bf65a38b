package assignorsim;

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** The assignors of kafka-clients, called as the leader of a classic group calls them. */
final class ReleasedConsumerAssignors {

    private ReleasedConsumerAssignors() { }

    static Map<String, List<String>> assign(final JsonNode problem) throws Exception {
        final String name = problem.required("assignor").asText();
        final ConsumerPartitionAssignor assignor = create(name);
        if (assignor instanceof AbstractStickyAssignor) {
            final Field seen = AbstractStickyAssignor.class.getDeclaredField("maxGeneration");
            seen.setAccessible(true);
            seen.setInt(assignor, problem.path("max_generation").asInt(AbstractStickyAssignor.DEFAULT_GENERATION));
        }
        final Map<String, Subscription> subscriptions = new HashMap<>();
        for (final JsonNode member : problem.required("members")) {
            subscriptions.put(member.required("id").asText(), subscription(name, member));
        }
        final Map<String, List<String>> answer = new HashMap<>();
        assignor.assign(cluster(problem), new GroupSubscription(subscriptions)).groupAssignment()
            .forEach((memberId, assignment) -> {
                final List<String> partitions = new ArrayList<>();
                assignment.partitions().forEach(partition -> partitions.add(partition.toString()));
                answer.put(memberId, partitions);
            });
        return answer;
    }

    private static ConsumerPartitionAssignor create(final String name) {
        switch (name) {
            case RangeAssignor.RANGE_ASSIGNOR_NAME: return new RangeAssignor();
            case RoundRobinAssignor.ROUNDROBIN_ASSIGNOR_NAME: return new RoundRobinAssignor();
            case StickyAssignor.STICKY_ASSIGNOR_NAME: return new StickyAssignor();
            case CooperativeStickyAssignor.COOPERATIVE_STICKY_ASSIGNOR_NAME: return new CooperativeStickyAssignor();
            default: throw new IllegalArgumentException("unknown assignor " + name);
        }
    }

    private static Cluster cluster(final JsonNode problem) {
        final List<PartitionInfo> partitions = new ArrayList<>();
        for (final JsonNode topic : problem.required("topics")) {
            final JsonNode racks = topic.path("racks");
            for (int number = 0; number < topic.required("partitions").asInt(); number++) {
                final Node[] replicas = new Node[racks.path(number).size()];
                for (int replica = 0; replica < replicas.length; replica++) {
                    replicas[replica] = new Node(replica, "broker", 9092, racks.get(number).get(replica).textValue());
                }
                final String name = topic.required("name").asText();
                partitions.add(new PartitionInfo(name, number, null, replicas, replicas));
            }
        }
        return new Cluster("cluster", List.of(), partitions, Set.of(), Set.of());
    }

    private static Subscription subscription(final String assignor, final JsonNode member) {
        final List<String> topics = new ArrayList<>();
        member.path("topics").forEach(topic -> topics.add(topic.asText()));
        final List<TopicPartition> owned = new ArrayList<>();
        NamedPartition.listOf(member.path("owned")).forEach(
            named -> owned.add(new TopicPartition(named.topic(), named.partition())));
        final boolean isSticky = assignor.equals(StickyAssignor.STICKY_ASSIGNOR_NAME);
        final JsonNode generation = member.path("user_data_generation");
        ByteBuffer userData = null;
        if (generation.isNumber()) {
            final AbstractStickyAssignor writer = isSticky ? new StickyAssignor() : new CooperativeStickyAssignor();
            writer.onAssignment(
                new Assignment(owned), new ConsumerGroupMetadata("group", generation.asInt(), "", Optional.empty()));
            userData = writer.subscriptionUserData(Set.copyOf(topics));
        } else if (isSticky && !owned.isEmpty()) {
            userData = withoutGeneration(owned);
        }
        final Subscription subscription = new Subscription(
            topics, userData, isSticky ? List.of() : owned, member.path("generation").asInt(-1),
            Optional.ofNullable(member.path("rack").textValue()));
        subscription.setGroupInstanceId(Optional.ofNullable(member.path("instance").textValue()));
        return subscription;
    }

    /** The user data of the sticky assignor before KIP-341, which no released class writes any more. */
    private static ByteBuffer withoutGeneration(final List<TopicPartition> owned) {
        final Map<String, List<Integer>> byTopic = new HashMap<>();
        owned.forEach(p -> byTopic.computeIfAbsent(p.topic(), added -> new ArrayList<>()).add(p.partition()));
        final ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        buffer.putInt(byTopic.size());
        byTopic.forEach((topic, partitions) -> {
            final byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) name.length).put(name).putInt(partitions.size());
            partitions.forEach(buffer::putInt);
        });
        return buffer.flip();
    }
}
