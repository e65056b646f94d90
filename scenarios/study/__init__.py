"""What is stored: the study file, how it is written, read, merged and kept compatible."""
