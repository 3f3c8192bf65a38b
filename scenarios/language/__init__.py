"""The scenario language: schema, units, YAML with line numbers, validation and error messages."""
