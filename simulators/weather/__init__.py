"""The weather sensor network, as a snapshot or as a living weather, and the temperature that people feel."""
