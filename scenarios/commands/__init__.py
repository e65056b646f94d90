"""The commands of policyloop, one file each."""
