"""The input of a run: the cluster, the application, the disturbances, and their layout in arrays."""
