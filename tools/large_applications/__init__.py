"""Time and memory of large applications and long histories: this code, an older revision, and peers, in one run."""
