"""What is believed before the first observation (Algorithm 2's input), and how it is learned from samples."""
