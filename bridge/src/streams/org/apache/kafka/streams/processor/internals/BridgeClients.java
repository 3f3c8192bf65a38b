package org.apache.kafka.streams.processor.internals;

import java.util.Map;
import java.util.Optional;

import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;

/** Creates objects with package-private constructors of Kafka. */
public final class BridgeClients {

    private BridgeClients() { }

    /** Returns the group leader's state of a process that has just joined, without threads and previous tasks. */
    public static ClientMetadata join(
        final ProcessId processId, final Map<String, String> tags, final Optional<String> rack
    ) {
        return new ClientMetadata(processId, null, tags, rack);
    }
}
