"""Age groups and contacts as surveys found them, each table with its source.

Sources, by the short names used below:

- Del Valle 2013: Del Valle, Hyman & Chitnis, "Mathematical models of contact patterns between age groups for
  predicting the spread of infectious diseases", Mathematical Biosciences and Engineering 10:1475. Contacts of
  1.6 million simulated people of Portland, Oregon (EpiSimS). Cited by the paper, section 8.2.2.
- Authors' code: the public repository of the paper's authors (guaguakai/DGPUCB), for numbers that the
  paper's text leaves out.
- CPS 2012: Current Population Survey 2012, US Census Bureau, as in the authors' code.
- McLean 2015: Journal of Infectious Diseases 211:1529, with the interim estimates of the US flu vaccine
  effectiveness network, season 2012-13.
- FluVaxView: Centers for Disease Control and Prevention, flu vaccination coverage, season 2012-13.
- Mistry 2021: Nature Communications 12:323, data of mobs-lab/mixing-patterns (Apache-2.0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulators.arrays import Array


@dataclass(frozen=True, eq=False)
class AgeTable:
    """What is known of each of J age groups.

    Attributes
    ----------
    groups : tuple of str
        Ages in years, from-to.
    population : (J,) array
        Persons, US 2012 (CPS 2012).
    susceptibility : (J,) array
        Relative to the most susceptible group (Del Valle 2013, calibrated there on data of the CDC).
    efficacy : (J,) array
        Vaccine effectiveness of 2012-13, H3N2 interim (McLean 2015): 0.58 for 6 months-17 years, 0.46 for
        18-49, 0.50 for 50-64, 0.09 for 65 and older, applied to the nearest age groups.
    coverage : (J,) array
        Share vaccinated in 2012-13 (FluVaxView): children 0.566, 50-64 years 0.451, 65 and older 0.662. The
        0.35 of 20-49 is a rounded planning value; the survey's figure for 18-49 is 0.311.
    initial_infected : (J,) array
        Persons infected on the first day: years in the group times a weight times 91 (authors' code).
    noise_variance : (J,) array
        Variance of an observation, squared sick days per person: years in the group times 1e-6 (authors'
        code).
    treatment_weights : (J,) array
        Weights of the treatment budget (authors' code); for 9 groups each is split by years.
    """

    groups: tuple[str, ...]
    population: Array
    susceptibility: Array
    efficacy: Array
    coverage: Array
    initial_infected: Array
    noise_variance: Array
    treatment_weights: Array


def _array(*values: float) -> Array:
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


def _matrix(text: str) -> Array:
    matrix = np.array([[float(entry) for entry in line.split()] for line in text.strip().splitlines()])
    matrix.flags.writeable = False
    return matrix


_YEARS_5, _WEIGHTS_5 = _array(20, 30, 15, 5, 10), _array(2, 1, 1.2, 1.5, 2)
_YEARS_9, _WEIGHTS_9 = _array(4, 3, 3, 10, 15, 15, 15, 5, 10), _array(2, 2, 2, 2, 1, 1, 1.2, 1.5, 2)

AGES: dict[int, AgeTable] = {
    5: AgeTable(
        groups=("0-19", "20-49", "50-64", "65-69", "70+"),
        population=_array(80_359_000, 124_607_000, 60_343_000, 13_599_000, 27_907_000),
        susceptibility=_array(1.0, 0.75, 0.3, 0.7, 0.8),
        efficacy=_array(0.58, 0.46, 0.50, 0.09, 0.09),
        coverage=_array(0.566, 0.35, 0.451, 0.662, 0.662),
        initial_infected=_array(*(_YEARS_5 * _WEIGHTS_5 * 91)),
        noise_variance=_array(*(_YEARS_5 * 1e-6)),
        treatment_weights=_array(24, 33, 15, 4, 6),
    ),
    9: AgeTable(
        groups=("0-3", "4-6", "7-9", "10-19", "20-34", "35-49", "50-64", "65-69", "70+"),
        population=_array(
            14_077_000,
            12_188_400,
            12_249_600,
            41_844_000,
            63_097_000,
            61_510_000,
            60_343_000,
            13_599_000,
            27_907_000,
        ),
        susceptibility=_array(1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.3, 0.7, 0.8),
        efficacy=_array(0.58, 0.58, 0.58, 0.58, 0.46, 0.46, 0.50, 0.09, 0.09),
        coverage=_array(0.566, 0.566, 0.566, 0.566, 0.35, 0.35, 0.451, 0.662, 0.662),
        initial_infected=_array(*(_YEARS_9 * _WEIGHTS_9 * 91)),
        noise_variance=_array(*(_YEARS_9 * 1e-6)),
        treatment_weights=_array(4.8, 3.6, 3.6, 12, 16.5, 16.5, 15, 4, 6),
    ),
}
"""The age groups by their number (paper, section 8.2.2: young, adult, middle aged, senior, elder; Del Valle
2013: 9)."""

CONTACTS: dict[str, dict[int, Array]] = {
    "del-valle-2013": {
        5: _matrix("""
            5.3175 1.8075 0.195 0.11  0.31
            3.895  6.735  1.325 0.795 0.78
            1.34   5.06   1.69  0.98  0.54
            0.32   1.16   0.42  0.5   0.23
            0.36   1.07   0.37  0.4   0.92
        """),
        9: _matrix("""
            0.98 1.36 1.55 0.87 1.07 0.64 0.12 0.07 0.06
            0.54 1.00 1.23 0.74 0.49 0.43 0.06 0.04 0.03
            0.44 0.99 1.26 0.78 0.33 0.40 0.05 0.03 0.03
            1.02 2.52 3.27 2.72 1.59 2.28 0.55 0.30 0.19
            0.91 0.93 0.95 1.02 3.51 3.22 1.33 0.80 0.38
            0.50 0.92 1.14 1.42 3.15 3.59 1.32 0.79 0.40
            0.17 0.25 0.29 0.63 2.52 2.54 1.69 1.17 0.54
            0.05 0.06 0.07 0.14 0.58 0.58 0.42 0.50 0.23
            0.06 0.09 0.10 0.11 0.52 0.55 0.37 0.40 0.92
        """),
    },
    "mistry-2021-oregon": {
        5: _matrix("""
            9.448 4.305 1.280 0.186 0.313
            2.763 7.005 2.578 0.264 0.400
            1.543 4.843 3.722 0.415 0.528
            1.019 2.255 1.890 1.120 0.965
            0.843 1.676 1.178 0.473 1.968
        """),
    },
}
"""Contacts per day by name and number of groups: row = susceptible group, column = group met.

`del-valle-2013`: the 9-group table is Del Valle 2013, the 5-group one is the authors' code. The latter is
the mean over rows and the sum over columns of the former, except (0-19, 70+) 0.31 where 0.0775 would follow,
(20-49, 70+) 0.78 (0.39) and (50-64, 65-69) 0.98 (1.17). Neither is reciprocal (C_ij N_i = C_ji N_j fails by
factors up to 10 and 29), so no population of people can realise them exactly.

`mistry-2021-oregon`: Mistry 2021, Oregon, all settings, aggregated to the five groups; reciprocal with the
population shares 0.254, 0.395, 0.210, 0.046, 0.094; 12.3 contacts a day on average.
"""

SETTINGS = ("household", "school", "work", "community")
"""Where people meet."""

CONTACTS_BY_SETTING: dict[str, dict[str, Array]] = {
    "mistry-2021-oregon": {
        "household": _matrix("""
            1.459 2.194 0.372 0.031 0.036
            1.408 1.758 0.421 0.046 0.071
            0.448 0.790 1.801 0.214 0.212
            0.172 0.395 0.976 0.971 0.686
            0.098 0.296 0.472 0.336 1.698
        """),
        "school": _matrix("""
            7.278 0.849 0.247 0.021 0.011
            0.545 0.964 0.089 0.010 0.009
            0.298 0.167 0.027 0.003 0.003
            0.116 0.085 0.014 0.002 0.003
            0.031 0.038 0.007 0.001 0.002
        """),
        "work": _matrix("""
            0.005 0.161 0.074 0.004 0.003
            0.103 3.180 1.481 0.079 0.057
            0.090 2.783 1.307 0.069 0.050
            0.024 0.672 0.314 0.019 0.013
            0.008 0.239 0.112 0.006 0.005
        """),
        "community": _matrix("""
            0.708 1.103 0.587 0.129 0.263
            0.708 1.103 0.587 0.129 0.263
            0.708 1.103 0.587 0.129 0.263
            0.708 1.103 0.587 0.129 0.263
            0.708 1.103 0.587 0.129 0.263
        """),
    },
}
"""Contacts per day that can transmit, by setting, for five groups: they sum to the matrix of the same name in
`CONTACTS` (Mistry 2021, Oregon; each reciprocal with `AGE_SHARES`)."""

AGE_SHARES: dict[str, Array] = {"mistry-2021-oregon": _array(0.254, 0.395, 0.210, 0.046, 0.094)}
"""Shares of the five groups in the population that a contact matrix belongs to, if not the US (Mistry 2021).
"""
