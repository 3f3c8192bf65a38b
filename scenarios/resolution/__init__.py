"""The resolution of a parsed scenario: cross-references, consistency checks and imported files."""
