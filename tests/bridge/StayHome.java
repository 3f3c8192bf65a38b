package org.example;

import java.util.*;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.*;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;

/** Tasks stay on the client that ran them, up to its share; others go to the client with the fewest tasks per thread. */
public class StayHome implements TaskAssignor {
    @Override
    public TaskAssignment assign(ApplicationState state) {
        var clients = new TreeMap<>(state.kafkaStreamsStates(false));
        int threads = clients.values().stream().mapToInt(KafkaStreamsState::numProcessingThreads).sum();
        var tasks = new TreeMap<ProcessId, Set<AssignedTask>>();
        clients.keySet().forEach(client -> tasks.put(client, new HashSet<>()));
        var homeless = new TreeSet<>(state.allTasks().keySet());
        for (TaskId task : new TreeSet<>(state.allTasks().keySet())) {
            clients.forEach((id, client) -> {
                int share = (state.allTasks().size() * client.numProcessingThreads() + threads - 1) / threads;
                if (client.previousActiveTasks().contains(task) && tasks.get(id).size() < share && homeless.remove(task)) {
                    tasks.get(id).add(new AssignedTask(task, AssignedTask.Type.ACTIVE));
                }
            });
        }
        for (TaskId task : homeless) {
            ProcessId least = Collections.min(clients.keySet(), Comparator.comparingDouble(
                id -> (double) tasks.get(id).size() / clients.get(id).numProcessingThreads()));
            tasks.get(least).add(new AssignedTask(task, AssignedTask.Type.ACTIVE));
        }
        return new TaskAssignment(tasks.entrySet().stream()
            .map(entry -> KafkaStreamsAssignment.of(entry.getKey(), entry.getValue())).toList());
    }
}
