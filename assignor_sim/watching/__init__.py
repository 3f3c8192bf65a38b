"""The watch of a running group: polling, output and metrics."""
