"""The rules of a watch: state machines without a clock, polls in, events out."""
