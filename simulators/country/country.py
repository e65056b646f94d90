"""What a model of a country needs to be told, whatever files it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulators.arrays import Array


@dataclass(frozen=True)
class Country:
    """The groups of a population, their contacts, and what is known of each; J groups.

    Every array of a group is None where it was not given, and the model's default holds then.

    Attributes
    ----------
    groups : tuple of str
        J names, as in the file.
    persons : (J,) array
    contacts : (J, J) array
        Contacts a day of one person of the row's group with persons of the column's.
    by_setting : mapping of str to (J, J) array
        The same by setting (home, school, work, other); they sum to `contacts`. Empty if not given.
    susceptibility, infectivity : (J,) array or None
        Relative, without a unit.
    initial_infected : (J,) array or None
        Persons infected on the first day.
    hospitalisation, death : (J,) array or None
        Shares of those infected, 0 to 1.
    cost, qaly_loss : (J,) array or None
        Of one infection: the currency of the file, and quality-adjusted life years lost.
    current : (J,) array or None
        Today's practice: the coverage of each group, 0 to 1.
    imbalance : float or None
        The share of the contacts that was counted from one side alone, as they were read, before they were
        mended; None where nothing was read.
    findings : tuple of str
        What was read, and what was mended, one sentence each.
    """

    groups: tuple[str, ...]
    persons: Array
    contacts: Array
    by_setting: Mapping[str, Array] = field(default_factory=dict)
    susceptibility: Array | None = None
    infectivity: Array | None = None
    initial_infected: Array | None = None
    hospitalisation: Array | None = None
    death: Array | None = None
    cost: Array | None = None
    qaly_loss: Array | None = None
    current: Array | None = None
    imbalance: float | None = None
    findings: tuple[str, ...] = ()
