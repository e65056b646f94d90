"""What came out, drawn: regret, policies, seasons, station maps."""
