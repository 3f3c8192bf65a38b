"""Task assignors in Java: any class with the interface of KIP-924 or KIP-1357, and Kafka's own, as released.

A reference (`java:…`, see `assignors.jvm.reference`) names a class and its jars. The classes run in a Java virtual
machine (JVM) of their own, one for each process of Python, which lives as long as the process and serves all its
assignors. Each set of jars has its own class loader, so releases of Kafka do not mix.

Python sends requests to the standard input of the JVM and reads answers from its standard output, as JSON after its
length. There is no network port. The JVM ends when its input is closed, however the Python process ends. The program
in the JVM is the bridge: `bridge/` in the repository, `bridge.jar` in this package. It has no dependency and no class
of Kafka: those come from the user's jars, or from the release that the reference names. It builds Kafka's objects as
the leader of a classic group or the coordinator of a streams group does, with hash maps in the same order.

A Java assignor is contained like any custom assignor (`assignors.containment`): exceptions, a time limit of each call,
a crash of the JVM and invalid assignments end one run. The next call starts a new JVM.

The simulation does not depend on the measured duration of calls, because runs are reproducible: the leader takes no
time to compute such an assignment.
"""
