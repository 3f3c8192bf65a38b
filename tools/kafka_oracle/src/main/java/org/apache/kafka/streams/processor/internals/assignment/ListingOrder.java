package org.apache.kafka.streams.processor.internals.assignment;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The collections in which an assignor is handed clients and tasks; some of Kafka's answers hang on it. */
enum ListingOrder {

    /** Sorted by id, so that the order in which a problem lists things does not matter. */
    SORTED,

    /** What a group leader does: hash collections, filled in the order listed. */
    PRODUCTION;

    <K extends Comparable<K>, V> Map<K, V> newMap() {
        return this == SORTED ? new TreeMap<>() : new HashMap<>();
    }

    <K extends Comparable<K>> Set<K> newSet() {
        return this == SORTED ? new TreeSet<>() : new HashSet<>();
    }
}
