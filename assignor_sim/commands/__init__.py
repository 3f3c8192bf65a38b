"""Commands, one per file. Each imports its packages when it runs, so that `--help` is fast."""
