"""Search for settings that improve an objective: a metric, or grades over situations; and the gain over today's."""
