package org.example;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** Assignors of a group coordinator, right for new groups, and wrong in one way each as soon as a member has tasks. */
public abstract class LaterWrong implements TaskAssignor {

    private final TaskAssignor sticky = new StickyTaskAssignor();

    @Override
    public String name() {
        return getClass().getSimpleName();
    }

    @Override
    public GroupAssignment assign(final GroupSpec group, final TopologyDescriber topology) {
        final boolean isNew = group.memberIds().stream()
            .allMatch(member -> group.memberAssignmentState(member).activeTasks().isEmpty());
        final Map<String, MemberAssignment> given = new TreeMap<>(sticky.assign(group, topology).members());
        if (!isNew) {
            given.entrySet().stream().filter(entry -> !entry.getValue().activeTasks().isEmpty()).findFirst()
                .ifPresent(entry -> entry.setValue(wrong(entry.getValue())));
        }
        return new GroupAssignment(given);
    }

    abstract MemberAssignment wrong(MemberAssignment given);

    static Map.Entry<String, Set<Integer>> first(final MemberAssignment given) {
        return new TreeMap<>(given.activeTasks()).firstEntry();
    }

    /** Leaves out an active task. */
    public static final class Drops extends LaterWrong {
        @Override
        MemberAssignment wrong(final MemberAssignment given) {
            final Map<String, Set<Integer>> active = new HashMap<>(given.activeTasks());
            final Set<Integer> kept = new HashSet<>(first(given).getValue());
            kept.remove(Collections.min(kept));
            active.put(first(given).getKey(), kept);
            return new MemberAssignment(active, given.standbyTasks());
        }
    }

    /** Gives a member a standby of a task that it runs. */
    public static final class Doubles extends LaterWrong {
        @Override
        MemberAssignment wrong(final MemberAssignment given) {
            final Map<String, Set<Integer>> standby = new HashMap<>(given.standbyTasks());
            standby.merge(first(given).getKey(), first(given).getValue(), (some, others) -> {
                final Set<Integer> both = new HashSet<>(some);
                both.addAll(others);
                return both;
            });
            return new MemberAssignment(given.activeTasks(), standby);
        }
    }

    /** Throws an exception, whose message would end a comment. */
    public static final class Throws extends LaterWrong {
        @Override
        MemberAssignment wrong(final MemberAssignment given) {
            throw new IllegalStateException("no */ \\u002a/ room for Member-1");
        }
    }
}
