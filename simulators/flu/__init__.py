"""The flu by age group: as an ODE, and among persons as a Mesa model; what both share are their tables."""
