"""Parsers and writers of the text formats of Kafka's tools and of the bytes of its group protocol.

Parsers turn text into frozen dataclasses and raise `FormatError` with the line number.
"""
