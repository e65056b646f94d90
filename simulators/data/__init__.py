"""Station data that come with the package; each file states its source and licence in its first lines."""
