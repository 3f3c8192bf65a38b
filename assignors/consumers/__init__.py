"""Kafka's consumer partition assignors: of clients (classic protocol) and of brokers (consumer protocol, KIP-848)."""
