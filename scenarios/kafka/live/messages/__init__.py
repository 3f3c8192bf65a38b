"""Messages of Kafka's protocol that kafka-python does not know, in the form in which Kafka describes its messages.

Source: KIP-1071, "StreamsGroupDescribe RPC"; the fields as in Kafka 4.1 to 4.3.
"""
