"""The commands of policyloop; those that only read a study stand in one file."""
