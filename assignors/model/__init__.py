"""The input and output of task assignors: ids, configs, state, lags, traffic rates and assignments."""
