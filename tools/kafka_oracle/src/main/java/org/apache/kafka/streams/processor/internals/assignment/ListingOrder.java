package org.apache.kafka.streams.processor.internals.assignment;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The collections in which an assignor receives clients and tasks; some of Kafka's answers depend on them. */
enum ListingOrder {

    /** Sorted by id, so that the order of clients and tasks in a problem has no effect. */
    SORTED,

    /** Hash collections as in a group leader, filled in the order of the problem. */
    PRODUCTION;

    <K extends Comparable<K>, V> Map<K, V> newMap() {
        return this == SORTED ? new TreeMap<>() : new HashMap<>();
    }

    <K extends Comparable<K>> Set<K> newSet() {
        return this == SORTED ? new TreeSet<>() : new HashSet<>();
    }
}
