"""What a policy does: it vaccinates before the season, or treats those who are ill."""

from __future__ import annotations

from typing import Any

from simulators.contract.validation import choice

INTERVENTIONS = ("vaccination", "treatment")


def vaccinates(intervention: Any, **only_of_vaccination: Any) -> bool:
    """Whether policies are coverages, and not rates of treatment.

    Parameters
    ----------
    intervention : str
    **only_of_vaccination
        Options that treatment knows nothing of; None where they are left out.

    Raises
    ------
    ValueError
        Another intervention, or such an option of a treatment.
    """
    choice("intervention", intervention, INTERVENTIONS)
    if intervention == "vaccination":
        return True
    for name, value in only_of_vaccination.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} has no meaning for intervention='treatment'; leave it out")
    return False
