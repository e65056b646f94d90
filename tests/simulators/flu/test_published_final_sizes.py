"""Final sizes by age as others have published them."""

import numpy as np
import pytest
from scipy.special import lambertw

from simulators import FluODE
from simulators.country import read_country

# POLYMOD in the United Kingdom (Mossong et al. 2008, PLoS Medicine 5:e74), made symmetric by socialmixr, and
# the final sizes of an R0 of 1.5 that R's package finalsize finds with it, in its vignette on heterogeneous
# contacts: https://epiverse-trace.github.io/finalsize/articles/varying_contacts.html
NAMES = ("[0,5)", "[5,18)", "[18,40)", "[40,65)", "65+")
PERSONS = (3453670, 9761554, 18110368, 19288101, 9673058)
CONTACTS = """
1.9157895 1.467205 3.278803 1.559611 0.3658614
0.5191021 8.858736 3.421566 2.616146 0.6260247
0.6252718 1.844236 5.440972 3.492124 0.8092367
0.2792593 1.324010 3.278895 4.178218 1.2380907
0.1306272 0.631752 1.515092 2.468756 1.7142857
"""
MATRIX = [[float(entry) for entry in row.split()] for row in CONTACTS.strip().splitlines()]
PUBLISHED = (0.4160682, 0.6888703, 0.5379381, 0.4639496, 0.3042623)
SEASON = {"budget": "none", "days": 4000, "initial_infected": 1.0}


@pytest.fixture
def files(tmp_path):
    """The two as R's write.csv has them, with brackets for ages."""
    rows = zip(NAMES, PERSONS, strict=True)
    groups = "age.group,population\n" + "".join(f'"{name}",{count}\n' for name, count in rows)
    (tmp_path / "groups.csv").write_text(groups, encoding="utf-8")
    rows = [",".join(f'"{name}"' for name in NAMES), *CONTACTS.strip().replace(" ", ",").splitlines()]
    (tmp_path / "contacts.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(tmp_path / "groups.csv"), str(tmp_path / "contacts.csv")


@pytest.mark.parametrize("latent_period", [0.0, 2.0])
def test_polymod_in_the_united_kingdom_has_the_final_sizes_of_finalsize(files, latent_period):
    env = FluODE(groups=files[0], contacts=files[1], r0=1.5, latent_period=latent_period, **SEASON)
    assert env.step(np.zeros(5)).info["attack_rate"] == pytest.approx(PUBLISHED, abs=2e-5)


def test_its_contacts_are_read_as_they_are_printed(files):
    country = read_country(*files, reciprocity="keep")
    assert country.contacts == pytest.approx(np.array(MATRIX))
    assert country.persons.sum() == pytest.approx(60_286_751)
    mended = read_country(*files)  # socialmixr's symmetric has made them so, up to what is printed
    assert mended.contacts == pytest.approx(np.array(MATRIX), rel=1e-5)


@pytest.mark.parametrize("r0", [1.28, 1.5, 2.0, 3.0])
def test_one_group_has_the_final_size_of_kermack_and_mckendrick(r0):
    """z = 1 - exp(-R0 z), solved by Lambert's W: 0.583 for an R0 of 1.5, 0.797 for 2."""
    z = 1 + lambertw(-r0 * np.exp(-r0)).real / r0
    env = FluODE(groups=["all"], population=[1e8], contacts=[[10.0]], r0=r0, **SEASON)
    assert env.step([0.0]).info["attack_rate"] == pytest.approx([z], abs=1e-4)
    if r0 == 1.5:
        assert z == pytest.approx(0.5828, abs=1e-4)
