"""A study as one page for readers: what was asked, what is recommended, how sure that is."""
