"""What is declared: the scenario file, its tables, and the catalogue."""
