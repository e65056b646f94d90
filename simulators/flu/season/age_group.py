"""An age group of the flu model, as a Mesa agent."""

from __future__ import annotations

import mesa


class AgeGroup(mesa.Agent):  # type: ignore[misc]
    """The people of an age: their policy, and what has become of them so far.

    Attributes
    ----------
    name, persons : str, int
        Ages, from-to, and how many they are.
    coverage, doses : float, int
        Share of them to be vaccinated, and doses given so far.
    susceptible, exposed, infectious, recovered : int
        Persons today. The vaccinated who were never infected count as susceptible, those immune from an
        earlier season as recovered.
    infections, sick_days : int
        Persons infected this season, the initially infected included, and the days they spent infectious.
    """

    def __init__(self, model: mesa.Model, name: str, persons: int, immune: int, coverage: float) -> None:
        super().__init__(model)
        self.name = name
        self.persons = persons
        self.coverage = coverage
        self.doses = 0
        self.susceptible, self.exposed, self.infectious, self.recovered = persons - immune, 0, 0, immune
        self.infections = 0
        self.sick_days = 0

    def __repr__(self) -> str:
        return f"AgeGroup({self.name!r}, persons={self.persons}, infectious={self.infectious})"

    @property
    def attack_rate(self) -> float:
        """Share of the persons infected this season; 0.0 where there is nobody."""
        return self.infections / max(self.persons, 1)

    def move(self, infected: int, ill: int, well: int) -> None:
        """Move on those infected today, ill from today and well again from today; count today's sick."""
        self.susceptible -= infected
        self.exposed += infected - ill
        self.infectious += ill - well
        self.recovered += well
        self.infections += infected
        self.sick_days += self.infectious
