"""What a simulator is: the contract, its policy space, the registry of names, and the checker of plug-ins."""
