"""What came out: statistics, tables, the bounds of the theory."""
