"""A synthetic population: persons by age in households, schools and workplaces, and whom they meet."""
