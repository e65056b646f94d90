"""One's own country: who lives there, who meets whom, and how ill they get; read from people's tables."""

from simulators.country.country import Country
from simulators.country.read import read_country

__all__ = ["Country", "read_country"]
