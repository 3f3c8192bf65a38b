"""Python API: the functions behind `import assignor_sim as sim` and behind the commands."""
