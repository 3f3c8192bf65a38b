package assignorsim;

import java.util.Map;
import java.util.Set;

/** The tasks that an assignor gives to a member: partitions by subtopology. */
record GroupTasks(Map<String, Set<Integer>> active, Map<String, Set<Integer>> standby) { }
