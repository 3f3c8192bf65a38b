package org.apache.kafka.streams.processor.internals;

import java.util.Map;
import java.util.Optional;

import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;

/** Makes what only this package of Kafka's can make. */
public final class OracleMembers {

    private OracleMembers() { }

    /** What the group leader knows of a process that has just joined: no threads, no previous tasks yet. */
    public static ClientMetadata join(
        final ProcessId processId, final Map<String, String> tags, final Optional<String> rack
    ) {
        return new ClientMetadata(processId, null, tags, rack);
    }
}
