"""How figures are drawn: what lies beneath the figures of runs and of sweeps."""
