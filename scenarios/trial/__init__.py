"""What a worker does: build a world, learn about it, and let one agent live through one trial."""
