"""UTCI, simplified WBGT and humidex: published values, another program, slopes, and where they are meant."""

import numpy as np
import pytest
import thermofeel
from scipy.optimize import approx_fprime

from scenarios import load, run
from simulators import check_environment, make
from simulators.weather.indices import INDICES, Humidex, SimplifiedWBGT, make_index
from simulators.weather.perceived_temperature import PerceivedTemperature
from simulators.weather.utci import UTCI, coefficients, saturation_pressure

OTHERS = ("utci", "wbgt-simplified", "humidex")


def drawn(n, seed=0, coldest=-50.0):
    rng = np.random.default_rng(seed)
    return rng.uniform(coldest, 50.0, n) + 273.15, rng.uniform(0.0, 100.0, n), rng.uniform(0.5, 17.0, n)


@pytest.mark.parametrize("excess", [0.0, -20.0, 45.0])
def test_the_utci_is_that_of_another_program(excess):
    T, RH, V = drawn(4000)
    hectopascal = 10.0 * saturation_pressure(T) * RH / 100.0
    inside = UTCI(excess).meant(T, RH, V)
    assert inside.mean() > 0.9
    expected = thermofeel.calculate_utci(T, V, T + excess, ehPa=hectopascal) - 273.15
    np.testing.assert_allclose(UTCI(excess)(T, RH, V)[inside], expected[inside], atol=1e-9)


def test_the_polynomial_has_the_210_terms_of_sixth_order():
    C = coefficients()
    orders = sum(np.indices(C.shape))
    # The constant, and the 209 others of four variables to the sixth order.
    assert np.count_nonzero(C) == 210 and (orders[C != 0] <= 6).all()


@pytest.mark.parametrize(("celsius", "wind", "expected"), [(25.0, 1.0, 24.6), (20.0, 3.0, 16.24)])
def test_the_utci_has_the_values_in_the_documentation_of_pythermalcomfort_and_ladybug(
    celsius, wind, expected
):
    digits = len(str(expected).partition(".")[2])
    assert round(float(UTCI()(celsius + 273.15, 50.0, wind)), digits) == expected


def test_in_the_reference_conditions_the_utci_is_the_air_temperature():
    # Its definition: a calm, 50 % (at most 2 kPa of vapour), radiant as air temperature. The polynomial is
    # said to be off by 1.1 K in the root mean square.
    T = np.linspace(-50.0, 50.0, 101) + 273.15
    humidity = np.minimum(50.0, 100.0 * 2.0 / saturation_pressure(T))
    error = UTCI()(T, humidity, 0.5) - (T - 273.15)
    assert np.sqrt(np.mean(error**2)) < 1.5 and np.abs(error).max() < 3.5


def test_saturation_over_water_is_that_of_the_steam_tables():
    # IAPWS: 0.61121 kPa at 0.01 degC (611.657 Pa at the triple point), 3.1699 at 25, 12.352 at 50.
    found = saturation_pressure(np.array([0.01, 25.0, 50.0]) + 273.15)
    np.testing.assert_allclose(found, [0.611657, 3.1699, 12.352], rtol=2e-4)


def test_outside_its_range_the_utci_is_that_of_the_nearest_conditions_inside():
    index = UTCI()
    assert index(293.15, 50.0, 0.0) == index(293.15, 50.0, 0.5)
    assert index(293.15, 50.0, -3.0) == index(293.15, 50.0, 0.5)
    assert index(293.15, 50.0, 30.0) == index(293.15, 50.0, 17.0)
    assert float(index(213.15, 0.0, 5.0)) == pytest.approx(float(index(223.15, 0.0, 5.0)))
    assert index(293.15, 130.0, 5.0) == index(293.15, 100.0, 5.0)
    damp = 100.0 * 5.0 / saturation_pressure(np.array(318.15))
    assert index(318.15, 99.0, 5.0) == pytest.approx(float(index(318.15, damp, 5.0)))
    outside = [(293.15, 50.0, 0.2), (293.15, 50.0, 18.0), (222.0, 50.0, 5.0), (318.15, 99.0, 5.0)]
    assert not index.meant(*np.transpose(outside)).any() and index.meant(293.15, 50.0, 0.5)


# The humidex chart of the Canadian Centre for Occupational Health and Safety: degC, percent, humidex.
CHART = [(30, 70, 41), (25, 50, 28), (34, 100, 58), (40, 50, 55), (25, 100, 37)]


@pytest.mark.parametrize(("celsius", "humidity", "expected"), CHART)
def test_the_humidex_is_that_of_the_chart(celsius, humidity, expected):
    assert np.rint(Humidex()(celsius + 273.15, humidity, 3.0)) == expected


def test_the_humidex_and_the_wbgt_are_those_of_another_program():
    T, RH, V = drawn(500, coldest=0.0)
    # thermofeel starts the humidex from the dew point, over which the two formulas of vapour differ by 1 %.
    vapour = 6.112 * 10.0 ** (7.5 * (T - 273.15) / (T - 35.45)) * RH / 100.0
    dew_point = 1.0 / (1.0 / 273.15 - np.log(vapour / 6.11) / 5417.7530)
    np.testing.assert_allclose(
        Humidex()(T, RH, V), thermofeel.calculate_humidex(T, dew_point) - 273.15, atol=0.05
    )
    np.testing.assert_allclose(
        SimplifiedWBGT()(T, RH, V), thermofeel.calculate_wbgt_simple(T, RH) - 273.15, atol=1e-9
    )


def test_a_humidex_by_hand_from_its_dew_point():
    # A dew point of 21 degC, 58.6 %: 38.4 by the formula of the dew point, whose vapour is 1 % more.
    assert Humidex()(303.15, 58.6, 0.0) == pytest.approx(38.4, abs=0.25)


@pytest.mark.parametrize("name", OTHERS)
def test_slopes_are_those_of_the_index(name):
    index = make_index(name)
    for T, RH, V in zip(*drawn(60, seed=1, coldest=-45.0), strict=True):
        here = np.array([T, np.clip(RH, 1.0, 99.0), np.clip(V, 0.6, 16.9)])
        if not index.meant(T, min(here[1] + 0.5, 100.0), here[2]) and name == "utci":
            continue
        expected = approx_fprime(here, lambda x: float(index(*x)), 1e-5)
        np.testing.assert_allclose(index.gradient(*here), expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", OTHERS)
def test_where_a_reading_is_clipped_its_slope_is_zero(name):
    index = make_index(name)
    assert index.gradient(300.0, -1.0, 3.0)[1] == 0 and index.gradient(300.0, 101.0, 3.0)[1] == 0
    assert index.gradient(300.0, 50.0, -1.0)[2] == 0
    if name == "utci":
        assert index.gradient(300.0, 50.0, 17.5)[2] == 0 and index.gradient(215.0, 50.0, 5.0)[0] == 0
        assert index.gradient(318.15, 99.0, 5.0)[1] == 0


@pytest.mark.parametrize("name", INDICES)
def test_a_missing_temperature_is_a_missing_value_and_shapes_broadcast(name):
    index = make_index(name)
    assert np.isnan(index(np.nan, 50.0, 3.0)) and np.isnan(index.gradient(np.nan, 50.0, 3.0)[0])
    T = np.full((4, 1), 300.0)
    assert index(T, np.array([40.0, 50.0]), 3.0).shape == (4, 2)
    assert index.gradient(T, np.array([40.0, 50.0]), 3.0).shape == (4, 2, 3)
    readings = drawn(200, seed=3)
    largest = index.bounds(*readings)
    assert (largest == np.abs(index.gradient(*readings)).max(axis=0)).all()
    with pytest.raises(ValueError, match="one complete reading"):
        index.bounds(np.nan, 50.0, 3.0)


def test_the_simplified_wbgt_and_the_humidex_are_meant_for_warmth():
    assert SimplifiedWBGT().meant([292.0, 294.0], 50.0, 1.0).tolist() == [False, True]
    # 25 degC: at 30 % the humidex is 24.7, which Environment Canada does not tell; at 60 % it is 30.
    assert Humidex().meant([290.0, 298.15, 298.15], [90.0, 30.0, 60.0], 1.0).tolist() == [False, False, True]


def test_an_option_of_another_index_is_refused():
    assert isinstance(make_index("perceived-temperature", "paper"), PerceivedTemperature)
    with pytest.raises(ValueError, match="rule='paper' has no effect on index='utci'"):
        make("weather", index="utci", rule="paper")
    with pytest.raises(ValueError, match="radiant_excess=10 has no effect on index='humidex'"):
        make("weather", index="humidex", radiant_excess=10)
    with pytest.raises(ValueError, match="index='heat' must be one of"):
        make("weather", index="heat")
    with pytest.raises(ValueError, match="within -30..70"):
        make("weather", index="utci", radiant_excess=80)


@pytest.mark.parametrize("name", OTHERS)
def test_an_environment_of_an_index_says_which_stations_it_is_not_meant_for(name):
    network = make("weather", index=name)
    index = make_index(name)
    wrong = ~index.meant(*network.stations.readings.T)
    assert network.objective_unit == index.unit
    (said,) = network.findings
    assert f"{wrong.sum()} of {len(wrong)} stations" in said and network.stations.ids[wrong][0] in said
    rows = np.arange(5)
    felt = network.compose(network.expected(rows), rows)
    np.testing.assert_array_equal(felt, index(*network.stations.readings[network.nodes[rows]].T))
    assert make("weather").findings == ()


def test_an_index_is_an_objective_that_agents_learn(tmp_path):
    assert not check_environment(make("weather", index="utci", sensors=60))
    text = """
name = "felt"
rounds = 5
trials = 1
agents = ["d-gpucb", { name = "d-gpucb", label = "delta", propagation = "delta" }, "gp-ucb"]
[environment]
name = "weather-live"
options = { sensors = 40, index = "utci", radiant_excess = 20 }
[prior]
samples = 60
restarts = 0
"""
    (tmp_path / "felt.toml").write_text(text)
    study = run(load(tmp_path / "felt.toml"), out=tmp_path / "felt.sqlite")
    assert study.environment.objective_unit == "degC"
    assert study.to_dataframe()["objective"].between(-60, 60).all()
