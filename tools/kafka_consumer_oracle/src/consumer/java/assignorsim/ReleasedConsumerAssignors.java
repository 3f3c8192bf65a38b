package assignorsim;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;

/** The assignors of kafka-group-coordinator, called as TargetAssignmentBuilder calls them. */
final class ReleasedConsumerAssignors {

    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private final Map<Uuid, Integer> partitions = new HashMap<>();

    private ReleasedConsumerAssignors(final JsonNode topics) {
        for (final JsonNode topic : topics) {
            final String name = topic.required("name").asText();
            final Uuid id = Uuid.fromString(topic.required("id").asText());
            names.put(id, name);
            ids.put(name, id);
            if (topic.required("partitions").asInt() > 0) {
                partitions.put(id, topic.required("partitions").asInt());
            }
        }
    }

    static Map<String, List<String>> assign(final JsonNode problem) throws Exception {
        return new ReleasedConsumerAssignors(problem.required("topics")).answer(problem);
    }

    private Map<String, List<String>> answer(final JsonNode problem) throws Exception {
        final Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (final JsonNode member : problem.required("members")) {
            final String id = member.required("id").asText();
            final Assignment stored = stored(member.path("owned"));
            stored.partitions().forEach((topic, numbers) -> numbers.forEach(
                number -> owners.computeIfAbsent(topic, added -> new HashMap<>()).put(number, id)));
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(member.path("rack").textValue()),
                Optional.ofNullable(member.path("instance").textValue()), subscribed(member.path("topics")), stored));
        }
        final PartitionAssignor assignor =
            problem.required("assignor").asText().equals(UniformAssignor.NAME) ? new UniformAssignor() : new RangeAssignor();
        final SubscriptionType type =
            SubscriptionType.valueOf(problem.required("subscription_type").asText().toUpperCase(Locale.ROOT));
        final GroupAssignment answer =
            assignor.assign(new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners), describer());
        final Map<String, List<String>> named = new HashMap<>();
        answer.members().forEach((id, assignment) -> named.put(id, named(assignment)));
        return named;
    }

    private List<String> named(final MemberAssignment assignment) {
        final List<String> named = new ArrayList<>();
        assignment.partitions().forEach(
            (topic, numbers) -> numbers.forEach(number -> named.add(names.get(topic) + "-" + number)));
        return named;
    }

    private Assignment stored(final JsonNode owned) {
        final Map<Uuid, List<Integer>> byTopic = new LinkedHashMap<>();
        NamedPartition.listOf(owned).forEach(named ->
            byTopic.computeIfAbsent(ids.get(named.topic()), added -> new ArrayList<>()).add(named.partition()));
        final List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> topics = new ArrayList<>();
        byTopic.forEach((topic, numbers) -> topics.add(
            new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(topic).setPartitions(numbers)));
        return Assignment.fromRecord(new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(topics));
    }

    /** The interface of the topic resolver mentions a metadata image, whose class depends on the release. */
    private Set<Uuid> subscribed(final JsonNode topics) throws Exception {
        final List<String> listed = new ArrayList<>();
        topics.forEach(topic -> listed.add(topic.asText()));
        final Object resolver = Proxy.newProxyInstance(
            TopicIds.class.getClassLoader(), new Class<?>[] {TopicIds.TopicResolver.class}, (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "id":
                        final Uuid id = ids.get(arguments[0]);
                        return partitions.containsKey(id) ? id : null;
                    case "name": return partitions.containsKey(arguments[0]) ? names.get(arguments[0]) : null;
                    default: throw new UnsupportedOperationException(method.getName());
                }
            });
        return TopicIds.class.getConstructor(Set.class, TopicIds.TopicResolver.class)
            .newInstance(new HashSet<>(listed), resolver);
    }

    private SubscribedTopicDescriber describer() {
        return (SubscribedTopicDescriber) Proxy.newProxyInstance(
            SubscribedTopicDescriber.class.getClassLoader(), new Class<?>[] {SubscribedTopicDescriber.class},
            (proxy, method, arguments) -> {
                if (!method.getName().equals("numPartitions")) {
                    throw new UnsupportedOperationException(method.getName());
                }
                return partitions.getOrDefault(arguments[0], -1);
            });
    }
}
