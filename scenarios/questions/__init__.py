"""Questions asked of a study after the fact, answered from the groups' posteriors, without a simulation."""
