package assignorsim;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentMetadata;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignorException;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * Tasks stay on their member while it has capacity; standbys go to racks without a copy of the task.
 *
 * <p>Other tasks go to a process with a standby, then to the process with the fewest tasks per member. Ties go to the
 * lower process id; in a process, to the member with the fewest tasks.
 */
public final class RackSpread implements TaskAssignor {

    @Override
    public String name() {
        return "rack_spread";
    }

    @Override
    public GroupAssignment assign(final GroupSpec groupSpec, final TopologyDescriber topologyDescriber) {
        final Map<String, Process> processes = new TreeMap<>();
        for (final String memberId : new TreeSet<>(groupSpec.memberIds())) {
            final MemberAssignmentMetadata metadata = groupSpec.memberMetadata(memberId);
            processes.computeIfAbsent(metadata.processId(), id -> new Process(id, metadata.rackId()))
                .members.add(new Member(memberId, groupSpec.memberAssignmentState(memberId)));
        }
        final List<Member> members = processes.values().stream().flatMap(process -> process.members.stream()).toList();
        final List<Task> tasks = new ArrayList<>();
        for (final String subtopology : topologyDescriber.subtopologies()) {
            for (int partition = 0; partition < topologyDescriber.maxNumInputPartitions(subtopology); partition++) {
                tasks.add(new Task(subtopology, partition));
            }
        }
        if (!tasks.isEmpty() && members.isEmpty()) {
            throw new TaskAssignorException("no member can run the tasks");
        }
        final int capacity = members.isEmpty() ? 0 : (tasks.size() + members.size() - 1) / members.size();
        final List<Task> moving = new ArrayList<>();
        for (final Task task : tasks) {
            members.stream().filter(m -> has(m.state.activeTasks(), task) && m.active.size() < capacity)
                .min(Comparator.comparing((Member m) -> m.id))
                .ifPresentOrElse(member -> member.active.add(task), () -> moving.add(task));
        }
        for (final Task task : moving) {
            processes.values().stream().filter(p -> p.members.stream().anyMatch(m -> m.active.size() < capacity))
                .min(Comparator.comparing((Process p) -> !p.hadStandby(task))
                    .thenComparing(Process::load).thenComparing(p -> p.id))
                .flatMap(chosen -> chosen.members.stream().filter(m -> m.active.size() < capacity)
                    .min(Comparator.comparing((Member m) -> !has(m.state.standbyTasks(), task))
                        .thenComparing(m -> m.active.size()).thenComparing(m -> m.id)))
                .orElseThrow().active.add(task);
        }
        for (final Task task : tasks) {
            if (topologyDescriber.isStateful(task.subtopology)) {
                for (int copy = 0; copy < groupSpec.configs().numStandbyReplicas(); copy++) {
                    addStandby(task, List.copyOf(processes.values()));
                }
            }
        }
        return new GroupAssignment(members.stream().collect(Collectors.toMap(
            member -> member.id,
            member -> new MemberAssignment(bySubtopology(member.active), bySubtopology(member.standby)))));
    }

    /** Assigns one more standby to a process without the task, if there is one: if possible, in another rack. */
    private static void addStandby(final Task task, final List<Process> processes) {
        final Set<Optional<String>> racks =
            processes.stream().filter(p -> p.holds(task)).map(p -> p.rack).collect(Collectors.toSet());
        processes.stream().filter(p -> !p.holds(task))
            .min(Comparator.comparing((Process p) -> racks.contains(p.rack))
                .thenComparing(p -> !p.hadCopy(task)).thenComparing(Process::load).thenComparing(p -> p.id))
            .flatMap(chosen -> chosen.members.stream().min(
                Comparator.comparing((Member m) -> m.active.size() + m.standby.size()).thenComparing(m -> m.id)))
            .ifPresent(member -> member.standby.add(task));
    }

    private record Task(String subtopology, int partition) { }

    /** A member and the tasks assigned to it so far. */
    private static final class Member {
        final String id;
        final MemberAssignmentState state;
        final List<Task> active = new ArrayList<>();
        final List<Task> standby = new ArrayList<>();

        Member(final String id, final MemberAssignmentState state) {
            this.id = id;
            this.state = state;
        }
    }

    /** A process, whose members must not have two copies of a task. */
    private static final class Process {
        final String id;
        final Optional<String> rack;
        final List<Member> members = new ArrayList<>();

        Process(final String id, final Optional<String> rack) {
            this.id = id;
            this.rack = rack;
        }

        boolean holds(final Task task) {
            return members.stream().anyMatch(m -> m.active.contains(task) || m.standby.contains(task));
        }

        boolean hadStandby(final Task task) {
            return members.stream().anyMatch(m -> has(m.state.standbyTasks(), task));
        }

        boolean hadCopy(final Task task) {
            return hadStandby(task) || members.stream().anyMatch(m -> has(m.state.activeTasks(), task));
        }

        double load() {
            return (double) members.stream().mapToInt(m -> m.active.size() + m.standby.size()).sum() / members.size();
        }
    }

    private static boolean has(final Map<String, Set<Integer>> tasks, final Task task) {
        return tasks.getOrDefault(task.subtopology, Set.of()).contains(task.partition);
    }

    private static Map<String, Set<Integer>> bySubtopology(final List<Task> tasks) {
        final Map<String, Set<Integer>> partitions = new HashMap<>();
        tasks.forEach(task ->
            partitions.computeIfAbsent(task.subtopology, added -> new HashSet<>()).add(task.partition));
        return partitions;
    }
}
