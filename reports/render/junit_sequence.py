"""A sequence of rebalances as a JUnit 5 test of an assignor of streams groups, in the package of Kafka's own tests.

It compiles against the released jars of the group coordinator, and fails while the assignor violates the invariant.
"""

from __future__ import annotations

import textwrap
from typing import Final

from reports.analysis.review.sequences import FoundSequence
from reports.analysis.text import printable

_PACKAGE: Final = "org.apache.kafka.coordinator.group.streams.assignor"
_API: Final = "org.apache.kafka.coordinator.group.api.streams.assignor"

_TESTS: Final = {
    "idempotent": ("NotMoveTasksIfNothingChanges", "stays"),
    "no_oscillation": ("SettleIfNothingChanges", "settles"),
    "converges": ("ConvergeIfNothingChanges", "settles"),
    "complete": ("AssignEachTask", "valid"),
    "valid": ("ReturnValidAssignments", "valid"),
}
"""By invariant: what the assignor should do, and how that is asserted. No test shows that it is not deterministic."""

_ENDS: Final = {
    "stays": "assertEquals(tasks(target), tasks(assign(target, {last})));\n",
    "settles": """\
for (int round = 0; round < {rounds}; round++) {{
    final Map<String, MemberAssignment> next = assign(target, {last});
    if (tasks(next).equals(tasks(target))) {{
        return;
    }}
    target = next;
}}
fail("still changes the assignment, although nothing else changes: " + tasks(target));
""",
    "valid": """\
for (int round = 0; round < {rounds}; round++) {{
    target = assign(target, {last});
}}
""",
}
"""The rebalances after the last change of the members."""

_ASSERTIONS: Final = {
    "stays": ("assertEquals",),
    "settles": ("fail",),
    "valid": ("assertEquals", "assertTrue"),
}

_TASKS_OF_MEMBERS: Final = """\
/** Returns the tasks of each member, by name. */
private static SortedMap<String, String> tasks(final Map<String, MemberAssignment> target) {
    final SortedMap<String, String> tasks = new TreeMap<>();
    target.forEach((member, given) ->
        tasks.put(member, "active " + names(given.activeTasks()) + ", standby " + names(given.standbyTasks())));
    return tasks;
}
"""
_VALIDITY: Final = """\
/** Each task is active once, standbys are of tasks with state, and no process has two copies of a task. */
private static Map<String, MemberAssignment> valid(final Map<String, MemberAssignment> target) {
    final List<String> active = new ArrayList<>();
    final Set<String> copies = new TreeSet<>();
    target.forEach((member, given) -> {
        final String process = member.substring(0, member.indexOf("-StreamThread-"));
        active.addAll(names(given.activeTasks()));
        for (final String task : names(given.activeTasks())) {
            assertTrue(copies.add(process + " " + task), "two copies of " + task + " in process " + process);
        }
        for (final String task : names(given.standbyTasks())) {
            assertTrue(names(ALL_TASKS).contains(task), "unknown task " + task);
            assertTrue(STATEFUL.contains(task.split("_")[0]), "standby of " + task + ", which has no state");
            assertTrue(copies.add(process + " " + task), "two copies of " + task + " in process " + process);
        }
    });
    assertEquals(List.copyOf(names(ALL_TASKS)), active.stream().sorted().toList());
    return target;
}
"""

_BEFORE_4_4: Final = (
    "AssignmentMemberSpec",
    """\
new AssignmentMemberSpec(Optional.empty(), Optional.empty(), active, standby, Map.of(), process,
    Map.of(), Map.of(), Map.of())""",
    'Map.of("num.standby.replicas", String.valueOf(NUM_STANDBY_REPLICAS))',
)
_FROM_4_4: Final = (
    "MemberMetadataAndStateImpl",
    """\
new MemberMetadataAndStateImpl(Optional.empty(), Optional.empty(), process, Map.of(), active, standby,
    Map.of(), Map.of(), Map.of())""",
    "new AssignmentConfigsImpl(NUM_STANDBY_REPLICAS, List.of())",
)
"""The class of a member, how it is built, and the configs."""


def has_junit_test(found: FoundSequence) -> bool:
    """Return whether a test can show the violation."""
    return found.invariant in _TESTS


def junit_class(found: FoundSequence) -> str:
    """Return the name of the class of a test, without its package."""
    return f"Should{_TESTS[found.invariant][0]}Test"


def junit_test(found: FoundSequence, assignor_class: str, origin: str, *, has_api: bool, unchanged_rounds: int) -> str:
    """Return the source text of a test.

    `assignor_class`: the class with its package. `origin`: the command that found the sequence. `has_api`: whether the
    interfaces are those of KIP-1357, as from Kafka 4.4 on.
    """
    action, end = _TESTS[found.invariant]
    member, make_member, configs = _FROM_4_4 if has_api else _BEFORE_4_4
    names = [f"PROCESS_{number}" for number in range(len(found.processes))]
    rounds = [", ".join(names[place] for place in present) for present in found.rounds]
    body = f"Map<String, MemberAssignment> target = assign(Map.of(), {rounds[0]});\n"
    body += "".join(f"target = assign(target, {processes});\n" for processes in rounds[1:])
    body += _ENDS[end].format(last=rounds[-1], rounds=unchanged_rounds)
    checked = "valid({})" if end == "valid" else "{}"
    interfaces = _API if has_api else _PACKAGE
    package, _, simple_name = assignor_class.rpartition(".")
    # A simple name from another package could be that of an import.
    assignor = (simple_name if package == _PACKAGE else assignor_class).replace("$", ".")
    imports = {f"{interfaces}.{name}" for name in ("MemberAssignment", "TaskAssignor", "TopologyDescriber")}
    imports |= {f"java.util.{name}" for name in ("List", "Map", "Optional", "Set", "TreeMap", "TreeSet")}
    imports |= {"java.util.ArrayList" if end == "valid" else "java.util.SortedMap"}
    imports |= {"java.util.stream.Collectors", "java.util.stream.IntStream", "org.junit.jupiter.api.Test"}
    own = {name for name in imports if name.rpartition(".")[0] == _PACKAGE}
    static = [f"org.junit.jupiter.api.Assertions.{name}" for name in _ASSERTIONS[end]]
    constants = "".join(
        f'private static final String {name} = "{process}";\n'
        for name, (process, _) in zip(names, found.processes, strict=True)
    )
    threads = ", ".join(f"{name}, {threads}" for name, (_, threads) in zip(names, found.processes, strict=True))
    all_tasks = ", ".join(f'"{number}", numbers({tasks})' for number, (tasks, _) in enumerate(found.subtopologies))
    stateful = ", ".join(f'"{number}"' for number, (_, has_state) in enumerate(found.subtopologies) if has_state)
    message = f"{found.message[:1].upper()}{found.message[1:]}"
    comment = textwrap.wrap(_in_comment(f"{message}. Found by {origin}."), 112)
    return f"""\
package {_PACKAGE};

{chr(10).join(f"import {name};" for name in sorted(imports - own))}

{chr(10).join(f"import static {name};" for name in static)}

/**
{chr(10).join(f" * {line}" for line in comment)}
 */
public class {junit_class(found)} {{

{textwrap.indent(constants, "    ")}
    private static final Map<String, Integer> THREADS = Map.of({threads});
    private static final Map<String, Set<Integer>> ALL_TASKS = new TreeMap<>(Map.of({all_tasks}));
    private static final Set<String> STATEFUL = Set.of({stateful});
    private static final int NUM_STANDBY_REPLICAS = {found.standbys};

    private final TaskAssignor assignor = new {assignor}();

    @Test
    public void should{action}() {{
{textwrap.indent(body, "        ")}    }}

    /** Assigns the tasks to the threads of processes, which have the tasks of the target before. */
    private Map<String, MemberAssignment> assign(
        final Map<String, MemberAssignment> before, final String... processes
    ) {{
        final Map<String, {member}> members = new TreeMap<>();
        for (final String process : processes) {{
            for (int thread = 1; thread <= THREADS.get(process); thread++) {{
                final MemberAssignment former = before.get(process + "-StreamThread-" + thread);
                final Map<String, Set<Integer>> active = former == null ? Map.of() : former.activeTasks();
                final Map<String, Set<Integer>> standby = former == null ? Map.of() : former.standbyTasks();
                members.put(process + "-StreamThread-" + thread,
{textwrap.indent(make_member, "                    ")});
            }}
        }}
        final GroupSpecImpl group = new GroupSpecImpl(members, {configs});
        final TopologyDescriber topology = new TopologyDescriber() {{
            @Override
            public List<String> subtopologies() {{
                return List.copyOf(ALL_TASKS.keySet());
            }}

            @Override
            public int maxNumInputPartitions(final String subtopology) {{
                return ALL_TASKS.get(subtopology).size();
            }}

            @Override
            public boolean isStateful(final String subtopology) {{
                return STATEFUL.contains(subtopology);
            }}
        }};
        return {checked.format("assignor.assign(group, topology).members()")};
    }}

{textwrap.indent(_VALIDITY if end == "valid" else _TASKS_OF_MEMBERS, "    ")}
    private static Set<String> names(final Map<String, Set<Integer>> tasks) {{
        final Set<String> names = new TreeSet<>();
        tasks.forEach((subtopology, partitions) ->
            partitions.forEach(partition -> names.add(subtopology + "_" + partition)));
        return names;
    }}

    private static Set<Integer> numbers(final int count) {{
        return IntStream.range(0, count).boxed().collect(Collectors.toSet());
    }}
}}
"""


def _in_comment(text: str) -> str:
    """Return a text that neither ends a comment of Java nor has its Unicode escapes."""
    return printable(text).replace("\\", "\\\\").replace("*/", "* /")
