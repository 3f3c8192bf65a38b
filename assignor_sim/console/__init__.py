"""What commands share: exit codes, options, progress, warnings and notes."""
