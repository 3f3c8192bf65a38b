"""The discrete-event simulator: from a world (cluster, application, disturbances) to the trace and tables of a run."""
