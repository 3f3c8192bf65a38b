"""Histories of groups: what the released coordinator of Kafka does with them, and what the model of it does.

A history is a JSON object with the configs of a group, its subtopologies and clients, and events at milliseconds:
clients start, leave, close, are killed, pause, and change their number of threads; a static one starts beside one with
its instance id; a client starts with another rack, other tags, or a later topology; dynamic configs of the group are
set or, with the value null, removed, partitions are added, and another broker coordinates the group. A log has an
object for each thing that happens: a member has `joined`, the `epoch` of the group rises, a `target` is computed, a
member has other `tasks`, a member is `removed`; in a classic group, a `generation` begins, and a member is `assigned`.
A member that joins is `stale` if the group has a later topology, and `refused` if it has a later one itself.
"""
