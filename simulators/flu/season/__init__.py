"""One flu season among persons: the Mesa model, and what it is made of."""
