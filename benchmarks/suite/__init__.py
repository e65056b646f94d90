"""A suite of problems with groups, half for choosing defaults, half for judging them."""
