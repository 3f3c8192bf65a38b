"""Plans of replica assignors: metrics, load distributions, move matrices and batches."""
