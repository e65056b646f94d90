"""What a simulator is: the contract, policy spaces and their limits, the registry of names, the checker."""
