"""Contacts in the forms in which they are published, made up: for tests of what reads them."""

import numpy as np
import pandas as pd

from simulators.country.known_bands import MISTRY_WEIGHTS, PREM
from simulators.country.reciprocity import mended

COUNTRIES = {"AAA": 0, "BBB": 1, "CCC": 2}
PREM_AGES = [name.replace("-", " to ") for name in PREM]
LOCATIONS = ("home", "work", "school", "others")
PLACES = {"Aland_country_level": 0, "Aland_subnational_North": 30}


def ages_of(seed, J):
    """Persons by band, fewer with age."""
    return np.round(np.linspace(1.0, 0.3, J) * np.random.default_rng(seed).uniform(5e4, 2e5, J))


def matrix(seed, J, scale=1.0):
    """Contacts that are more with those of one's own age."""
    rng = np.random.default_rng(seed)
    apart = np.abs(np.subtract.outer(np.arange(J), np.arange(J)))
    return scale * np.exp(-apart / (J / 6)) * rng.uniform(0.5, 1.5, (J, J)) * 10 / J


def prem_matrices(iso3c):
    return {name: matrix(10 * COUNTRIES[iso3c] + k, 16) for k, name in enumerate(LOCATIONS)}


def write_prem(folder):
    """Prem et al. 2021: the long table, in the order in which R wrote the true one (contactors first).

    Beside it a workbook of 2017 with a sheet a country, and a population by five years.
    """
    parts = []
    for area, scale in (("overall", 1.0), ("rural", 0.5)):
        for iso3c in COUNTRIES:
            matrices = prem_matrices(iso3c)
            for location, one in {**matrices, "all": sum(matrices.values())}.items():
                parts.append(
                    pd.DataFrame(
                        {
                            "iso3c": iso3c,
                            "setting": area,
                            "location_contact": location,
                            "age_contactor": np.tile(PREM_AGES, 16),
                            "age_cotactee": np.repeat(PREM_AGES, 16),
                            "mean_number_of_contacts": scale * one.ravel(order="F"),
                        }
                    )
                )
    pd.concat(parts).to_csv(folder / "synthetic_contacts_2021.csv", index=False)
    persons = pd.DataFrame({"Age": PREM, "Population": ages_of(0, 16)})
    persons.to_csv(folder / "groups.csv", index=False)
    with pd.ExcelWriter(folder / "MUestimates_home_1.xlsx") as book:
        for iso3c in COUNTRIES:
            sheet = pd.DataFrame(prem_matrices(iso3c)["home"], columns=[f"X{k}" for k in range(1, 17)])
            sheet.to_excel(book, sheet_name=iso3c, index=False)


def mistry_settings(seed):
    persons = ages_of(seed, 85)
    return {name: mended(matrix(seed + k, 85, 0.2), persons) for k, name in enumerate(MISTRY_WEIGHTS)}


def write_mistry(folder):
    """Mistry et al. 2021: the files of two places, by single years."""
    for place, seed in PLACES.items():
        settings = mistry_settings(seed)
        for name, one in settings.items():
            file = folder / f"{place}_F_{name}_setting_85.csv"
            pd.DataFrame(one).to_csv(file, header=False, index=False, float_format="%.17f")
        whole = sum(MISTRY_WEIGHTS[name] * one for name, one in settings.items())
        file = folder / f"{place}_M_overall_contact_matrix_85.csv"
        pd.DataFrame(whole).to_csv(file, header=False, index=False, float_format="%.17f")
        ages = pd.DataFrame({"age": np.arange(85.0), "persons": ages_of(seed, 85)})
        ages.to_csv(
            folder / f"{place}_age_distribution_85.csv", header=False, index=False, float_format="%.16f"
        )


def write_survey(folder, participants=400, seed=0):
    """POLYMOD as on Zenodo: participants, their households and days, and contacts; of two countries."""
    rng = np.random.default_rng(seed)
    ids = np.arange(1, participants + 1)
    ages = rng.integers(0, 90, participants)
    homes = [f"HH{one}" for one in ids]
    countries = np.where(ids % 4, "Belgium", "Italy")
    pd.DataFrame({"part_id": ids, "hh_id": homes, "part_age": ages, "part_gender": "F"}).to_csv(
        folder / "polymod_participant_common.csv", index=False
    )
    pd.DataFrame({"hh_id": homes, "country": countries, "hh_size": 3}).to_csv(
        folder / "polymod_hh_common.csv", index=False
    )
    days = pd.DataFrame({"part_id": ids, "sday_id": ids, "dayofweek": rng.integers(0, 7, participants)})
    days.to_csv(folder / "polymod_sday.csv", index=False)
    who = np.repeat(ids, rng.poisson(11, participants))
    own = ages[who - 1]
    met = np.where(
        rng.random(len(who)) < 0.5, own + rng.integers(-5, 6, len(who)), rng.integers(0, 90, len(who))
    )
    met = np.clip(met, 0, 95)
    exact = rng.random(len(who)) < 0.7
    place = rng.choice(["home", "work", "school", "leisure"], len(who))
    pd.DataFrame(
        {
            "cont_id": np.arange(1, len(who) + 1),
            "part_id": who,
            "cnt_age_exact": np.where(exact, met.astype(float), np.nan),
            "cnt_age_est_min": np.where(exact, np.nan, met - met % 10.0),
            "cnt_age_est_max": np.where(exact, np.nan, met - met % 10.0 + 9),
            **{f"cnt_{name}": (place == name).astype(int) for name in ("home", "work", "school", "leisure")},
        }
    ).to_csv(folder / "polymod_contact_common.csv", index=False)
