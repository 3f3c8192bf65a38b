"""Definitions of Kafka protocol messages that kafka-python lacks, in Kafka's own JSON format.

Source: KIP-1071, "StreamsGroupDescribe RPC", fields as in Kafka 4.1 to 4.3; KIP-848, "ConsumerGroupDescribe API",
as in Kafka 3.7 to 4.3.
"""
