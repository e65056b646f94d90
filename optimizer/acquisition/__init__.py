"""What makes a policy worth trying (UCB with its beta_t, EI, MPI, Thompson sampling), and its search."""
