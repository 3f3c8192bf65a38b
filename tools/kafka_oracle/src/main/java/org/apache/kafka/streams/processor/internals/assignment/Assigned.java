package org.apache.kafka.streams.processor.internals.assignment;

import java.util.SortedMap;

import org.apache.kafka.streams.processor.assignment.ProcessId;

/** What an assignor decided: every client's tasks, whether it asks for a follow-up, and how long it took. */
record Assigned(SortedMap<ProcessId, ClientState> clients, boolean probingRebalance, long nanos) { }
