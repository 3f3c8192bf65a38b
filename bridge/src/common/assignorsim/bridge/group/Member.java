package assignorsim.bridge.group;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A member of a streams group: all that its heartbeats report, and its previous tasks, in the form of any release. */
public record Member(
    Optional<String> instanceId,
    Optional<String> rackId,
    String processId,
    Map<String, String> clientTags,
    Map<String, Set<Integer>> activeTasks,
    Map<String, Set<Integer>> standbyTasks,
    Map<String, Map<Integer, Long>> taskOffsets,
    Map<String, Map<Integer, Long>> taskEndOffsets
) { }
