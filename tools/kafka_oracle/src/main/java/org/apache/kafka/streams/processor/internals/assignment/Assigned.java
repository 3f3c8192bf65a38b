package org.apache.kafka.streams.processor.internals.assignment;

import java.util.SortedMap;

import org.apache.kafka.streams.processor.assignment.ProcessId;

/** The result of an assignor: every client's tasks, whether it requests a follow-up, and the run time. */
record Assigned(SortedMap<ProcessId, ClientState> clients, boolean probingRebalance, long nanos) { }
