"""The processes of a run, which drive the state machines over time; the only package that uses SimPy."""
