"""What the driving process does: hand out trials, collect their rounds, show progress, survive interrupts."""
