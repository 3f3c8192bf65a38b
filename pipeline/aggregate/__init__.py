"""Statistics over the runs of sweeps: cell means, differences from a baseline, Pareto front and sensitivity.

A cell is one assignor in one setting of a sweep; its runs differ only by seed. `stored_sweeps` finds and checks the
directories, `aggregation` computes the statistics of the cells of each setting on Spark, `front` and `sensitivity` work
on these statistics, and `summary` selects what the reports show first. The computations are functions on Arrow tables
and NumPy arrays.
"""

from pipeline.aggregate.aggregation import aggregate
from pipeline.aggregate.stored_sweeps import AggregateError

__all__ = ["AggregateError", "aggregate"]
