"""What many runs say together: figures of cells, differences from a baseline, the Pareto front, what matters most.

A cell is an assignor in a setting of a sweep; its runs differ by their seeds alone. The way: `sweeps` finds and checks
the directories, `figures` turns the runs of a setting into the figures of its cells, `front` and `sensitivity` work on
these, `summary` says what people read first, and `aggregation` lets Spark do all of it. What is worked out and how is
in functions on Arrow tables and NumPy arrays, which know nothing of Spark.
"""

from pipeline.aggregate.aggregation import aggregate
from pipeline.aggregate.stored_sweeps import AggregateError

__all__ = ["AggregateError", "aggregate"]
