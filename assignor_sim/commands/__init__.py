"""One file a command. What a command needs is imported when it runs, so that `--help` is fast."""
