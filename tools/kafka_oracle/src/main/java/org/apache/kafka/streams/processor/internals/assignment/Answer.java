package org.apache.kafka.streams.processor.internals.assignment;

import java.util.Collection;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Function;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/** Answers in the format of problem files (docs/reference/problems.md). */
final class Answer {

    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private Answer() { }

    /** Runs the assignor that a problem names; an exception of Kafka is an answer as well. */
    static ObjectNode to(final Problem problem, final ListingOrder order) {
        final ObjectNode answer = JSON.objectNode().put("id", problem.id);
        final Assignor assignor = Assignor.named(problem.assignor);
        try {
            final AssignmentConfigs configs = problem.configs();
            final Assigned assigned = assignor.assign(problem, configs, order);
            answer.set("assignment", assignment(assigned.clients()));
            answer.put("probing_rebalance", assigned.probingRebalance());
            putCosts(answer, problem, configs, assigned.clients());
            answer.put("nanos", assigned.nanos()).putNull("error");
        } catch (final RuntimeException error) {
            answer.putNull("assignment").put("probing_rebalance", false);
            answer.putNull("active_cost").putNull("stateless_cost").putNull("standby_cost").put("nanos", 0L);
            answer.put("error", error.getClass().getName() + ": " + error.getMessage());
        }
        return answer;
    }

    private static ObjectNode assignment(final SortedMap<ProcessId, ClientState> clients) {
        final ObjectNode assignment = JSON.objectNode();
        clients.forEach((processId, client) -> {
            final ObjectNode tasks = assignment.putObject(processId.toString());
            tasks.set("active", names(client.activeTasks()));
            tasks.set("standby", names(client.standbyTasks()));
        });
        return assignment;
    }

    private static ArrayNode names(final Collection<TaskId> tasks) {
        final ArrayNode names = JSON.arrayNode();
        new TreeSet<>(tasks).forEach(task -> names.add(task.toString()));
        return names;
    }

    /** Costs as Kafka computes them, without the cost of moves; all null if Kafka cannot compute one of them. */
    private static void putCosts(
        final ObjectNode answer,
        final Problem problem,
        final AssignmentConfigs configs,
        final SortedMap<ProcessId, ClientState> clients
    ) {
        answer.putNull("active_cost").putNull("stateless_cost").putNull("standby_cost");
        final RackAwareTaskAssignor racks = Assignor.rackAware(problem, configs);
        if (!racks.canEnableRackAwareAssignor()) {
            return;
        }
        final SortedSet<TaskId> held = held(clients, ClientState::activeTasks);
        final SortedSet<TaskId> stateful = new TreeSet<>();
        final SortedSet<TaskId> stateless = new TreeSet<>();
        for (final Problem.Task task : problem.tasks) {
            if (held.contains(task.id())) {
                (task.stateful() ? stateful : stateless).add(task.id());
            }
        }
        final SortedSet<TaskId> standbys = held(clients, ClientState::standbyTasks);
        final int traffic = configs.rackAwareTrafficCost().orElse(Assignor.defaultTrafficCost(problem.assignor));
        final long active;
        final long standby;
        try {
            active = racks.activeTasksCost(stateful, clients, traffic, 0);
            standby = configs.numStandbyReplicas() > 0 ? racks.standByTasksCost(standbys, clients, traffic, 0) : 0;
            answer.put("stateless_cost", racks.activeTasksCost(stateless, clients, 1, 0));
        } catch (final IllegalStateException withoutPartitions) {
            return; // A task has no partitions; only rack-aware assignors reject it.
        }
        answer.put("active_cost", active);
        if (configs.numStandbyReplicas() > 0) {
            answer.put("standby_cost", standby);
        }
    }

    private static SortedSet<TaskId> held(
        final SortedMap<ProcessId, ClientState> clients, final Function<ClientState, Collection<TaskId>> role
    ) {
        final SortedSet<TaskId> tasks = new TreeSet<>();
        clients.values().forEach(client -> tasks.addAll(role.apply(client)));
        return tasks;
    }
}
